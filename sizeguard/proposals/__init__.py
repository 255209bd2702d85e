"""Propose sizeguard.yaml for a project from what its build folder holds."""
