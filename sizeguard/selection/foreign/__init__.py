"""Selections in the words of PyTorch and ExecuTorch."""
