"""Readers of model files, and of their underlying formats."""
