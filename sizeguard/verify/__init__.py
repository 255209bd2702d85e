"""Verification: decide by evidence whether code is absent from an image, or present in it."""
