"""The result of a bisect in every format, and its progress."""
