"""Section graphs of links: which sections a linker keeps, why, and which would go with another."""
