"""Output of the commands that set up a project."""
