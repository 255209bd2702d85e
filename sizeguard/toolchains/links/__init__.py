"""Records of a build's links, made during the build or after it."""
