"""The sizes of a project's releases and commits over time."""
