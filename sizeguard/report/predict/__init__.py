"""A prediction in every format."""
