"""Turns a range of commits into those that moved the size, each with its bytes."""
