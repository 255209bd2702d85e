"""Causes of size changes: objects, source lines, operators that grew, savings of selections."""
