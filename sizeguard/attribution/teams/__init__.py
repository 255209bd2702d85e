"""Levels in the terms of teams: source, directory, namespace, package and owner."""
