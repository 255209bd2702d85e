"""Records of a build's links: made while it runs, or asked of a build that is done."""
