"""PyTorch operators: names, schemas, dtypes, and lists of operators."""
