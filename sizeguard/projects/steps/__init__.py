"""The build steps of an app: from sizeguard.yaml, and from that of a commit."""
