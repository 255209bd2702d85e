"""Baselines as `sizeguard baseline` prints them."""
