"""The sizes that growth and creep are counted from: merge base, baseline or release."""
