"""Test suites with more examples, and in clean containers."""
