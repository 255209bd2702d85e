"""Turns random choices into models."""
