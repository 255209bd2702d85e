"""Sizes of many builds: models, operators, targets, apps."""
