"""Section graphs of links: which sections a linker keeps, why, and what removing them frees."""
