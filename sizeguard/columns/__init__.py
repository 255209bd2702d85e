"""Columns of numbers, strings and hashes: sorted, ranked, packed and summed with numpy."""
