"""Random models."""
