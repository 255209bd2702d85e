"""Turns selection files into answers: what a selective build keeps, and for whom."""
