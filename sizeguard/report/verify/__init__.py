"""The result of a verification in every format."""
