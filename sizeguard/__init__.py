"""sizeguard: where every byte of an inference runtime went, and whether what was deselected is gone."""

__version__ = "0.1.0"
