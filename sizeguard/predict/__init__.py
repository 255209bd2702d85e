"""Predict the sizes of a selective build from a full build, without compiling anything.

Also: which operators a model can reach, and which of them a trace missed.
"""
