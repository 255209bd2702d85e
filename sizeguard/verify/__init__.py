"""Turns claims that something is gone from an image, or in it, into verdicts with evidence."""
