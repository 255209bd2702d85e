"""Levels that teams think in: source, directory, namespace, package and owner."""
