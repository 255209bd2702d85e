"""Checks that apps' selections hold all that their models need."""
