"""Claims that a selection makes of a build of native/."""
