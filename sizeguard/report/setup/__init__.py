"""Speech of commands that set a project up."""
