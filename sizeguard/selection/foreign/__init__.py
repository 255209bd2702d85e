"""Selections with names of PyTorch and ExecuTorch."""
