"""Owners and their operators or dtypes, from objects, registration tables and debug information."""
