"""Turns the spans of an image into rows by operator, kernel and dtype."""
