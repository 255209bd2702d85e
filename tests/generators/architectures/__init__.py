"""Ten small architectures, three models of each, with random weights."""
