"""Models made of random choices."""
