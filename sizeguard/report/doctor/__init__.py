"""Findings of the doctor, in every format."""
