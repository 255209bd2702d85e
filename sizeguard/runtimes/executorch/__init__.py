"""ExecuTorch: names.yaml has the rules for its names."""
