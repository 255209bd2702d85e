"""Compilers, linkers and targets of this machine, and commands run with limits."""
