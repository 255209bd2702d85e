"""Claims of a selection on a build of native/."""
