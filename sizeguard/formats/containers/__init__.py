"""Read what images come in: archives, packages, folders and universal binaries."""
