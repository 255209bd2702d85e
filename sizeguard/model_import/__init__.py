"""Turns model files into programs of the runtime, and into lists of the operators that they name."""
