"""Long comparisons of section graphs with the linkers' own logs."""
