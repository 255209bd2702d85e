"""ATen: names.yaml has the rules for its names, kernels.txt its kernels."""
