"""A project's own rules for components."""
