"""A diff of two images in every format."""
