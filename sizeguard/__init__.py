"""Account for every byte of an inference runtime, and prove that deselected code is gone."""

__version__ = "0.2.0.dev0"
