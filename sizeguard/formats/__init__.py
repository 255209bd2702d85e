"""Turns the bytes of binaries into images: sections, segments, symbols."""
