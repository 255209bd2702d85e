"""Calls of each family of operators, with PyTorch's results."""
