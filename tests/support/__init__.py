"""Modules that tests, soak scripts, benchmarks and generators share."""
