"""The findings of a gate, and their sentences."""
