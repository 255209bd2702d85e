"""Inputs of a link: its files and options, the loaded objects, and definitions of symbols."""
