"""Dtype branches: switches and cases in debug information, and the functions that they call."""
