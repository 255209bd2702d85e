"""Soak tests of the verifier: leaks that it must report, and changes that it must accept."""
