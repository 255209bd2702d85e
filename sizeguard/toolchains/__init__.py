"""Find compilers, linkers and targets of this machine, and run commands with limits."""
