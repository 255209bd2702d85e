"""Analyses saved as small files, and a store of results by the hash of their inputs."""
