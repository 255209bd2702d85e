"""Run times of commands and of parts."""
