"""Analyses of containers: archives, packages, folders and universal binaries."""
