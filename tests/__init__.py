"""Tests of sizeguard. Scripts and shared modules run from the root.

For example: `python -m tests.soak.runtime.fuzz`.
"""
