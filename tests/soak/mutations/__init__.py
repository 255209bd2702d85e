"""Mutated files of each format: what makes the seed files and what reads a file."""
