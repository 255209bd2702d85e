"""Build systems: their files, their commands, and how to pass flags."""
