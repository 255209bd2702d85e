"""Findings and causes that several builds share."""
