"""Read damaged files, and files of other projects."""
