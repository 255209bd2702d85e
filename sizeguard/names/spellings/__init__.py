"""Paths of demangled names, and names that are near."""
