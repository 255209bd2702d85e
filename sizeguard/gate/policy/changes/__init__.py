"""Differences between the terms of the merge base and of a change."""
