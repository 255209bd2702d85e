"""Predict the sizes of a selective build from a full build, without compiling anything.

It also finds which operators a model can reach, and which of them a trace missed.
"""
