"""Benchmarks of commands and of parts."""
