"""Long comparisons of predicted savings with rebuilds."""
