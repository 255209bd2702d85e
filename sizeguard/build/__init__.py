"""Turns a variant and a toolchain into a binary and a record of how it came to be."""

RECORD = "build.json"  # of a build, in its folder
