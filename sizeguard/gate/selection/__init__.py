"""Checks that the apps' selections keep everything that their models need."""
