"""Scanners of the C++ sources of native/, as text."""
