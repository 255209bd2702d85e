"""Gather an image and all that ships with it into a folder of its own."""
