"""Search an image for deselected code and names in any disguise."""
