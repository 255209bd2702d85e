"""Compare section graphs with the logs of linkers, for many links."""
