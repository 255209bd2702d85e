"""Run the verifier on builds with known leaks, and on harmless changes that it must accept."""
