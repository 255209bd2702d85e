"""Judge build features by the signs that images with and without them have."""
