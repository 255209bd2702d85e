"""Scripts that write recorded data to tests/data and sizeguard/."""
