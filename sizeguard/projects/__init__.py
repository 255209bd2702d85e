"""Projects: the apps and targets of sizeguard.yaml, and the build of each pair."""

CONFIG = "sizeguard.yaml"
