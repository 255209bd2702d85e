"""Histories of sizes as text."""
