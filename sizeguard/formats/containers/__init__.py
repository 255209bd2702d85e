"""Read containers of images: archives, packages, folders and universal binaries."""
