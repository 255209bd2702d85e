"""Readers of model files, and of the formats that they are made of."""
