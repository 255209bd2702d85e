"""The section graph: what a linker keeps, why, and what would leave with it."""
