"""Scripts that write recorded data under tests/data and sizeguard/."""
