"""Tests of sizeguard; scripts and shared modules run from the root: `python -m tests.soak.fuzz`."""
