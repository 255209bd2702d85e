"""Turns results into text for people and for machines; computes nothing."""
