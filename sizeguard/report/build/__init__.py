"""Builds as `sizeguard build` prints them."""
