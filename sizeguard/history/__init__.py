"""The sizes of a project's releases and commits, one after the other."""
