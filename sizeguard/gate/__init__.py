"""Turns builds, measurements and a policy into a verdict."""
