"""Cached results, by the content of their inputs, so that equal work is done once."""
