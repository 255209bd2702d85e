"""Projects: sizeguard.yaml as apps and targets, and how each pair is built."""
