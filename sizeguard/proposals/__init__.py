"""Propose sizeguard.yaml for a project from its build folder."""
