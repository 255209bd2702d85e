"""Turns an image into the exact partition of its bytes."""
