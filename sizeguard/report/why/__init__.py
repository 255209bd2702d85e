"""The reason that something is in an image, in every format."""
