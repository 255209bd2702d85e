"""Predict the savings of leaving out an operator or a dtype branch, each with an interval."""
