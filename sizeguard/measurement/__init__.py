"""Measure builds and commits: bytes by metric, kept in the store."""
