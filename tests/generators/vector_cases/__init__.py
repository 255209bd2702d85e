"""Calls of each family of operators; PyTorch gives their results."""
