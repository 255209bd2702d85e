"""Compare predicted savings with rebuilds."""
