"""Long checks of the verifier, with builds that leak and builds that do not."""
