"""Inputs of a link: its files and options, the objects that it loads, who defines each symbol."""
