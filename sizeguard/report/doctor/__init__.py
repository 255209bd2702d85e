"""What an image could do without, in every format."""
