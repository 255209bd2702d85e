"""Long runs of the runtime under sanitizers."""
