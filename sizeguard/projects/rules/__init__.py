"""Rules of a project's own for components."""
