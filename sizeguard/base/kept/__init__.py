"""Answers about files that are kept instead of asked again."""
