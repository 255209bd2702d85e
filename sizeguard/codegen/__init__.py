"""Turns operator lists and a selection into registration sources and selection headers."""
