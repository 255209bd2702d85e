"""Turns each family of operators into calls whose results PyTorch gives."""
