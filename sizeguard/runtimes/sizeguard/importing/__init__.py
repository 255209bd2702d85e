"""Import .pt2 files as programs."""
