"""Mutation tests of the modules that decide."""
