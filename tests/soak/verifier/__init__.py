"""Check that the verifier reports known leaks and accepts harmless changes."""
