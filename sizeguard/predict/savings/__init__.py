"""Predict what leaving out one operator or one dtype branch saves, with an interval for each."""
