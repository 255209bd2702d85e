"""Selections, their operators and findings as `sizeguard select` prints them."""
