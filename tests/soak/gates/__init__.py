"""Check the gate, bisect and whole results on many changes."""
