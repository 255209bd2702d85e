"""Search of an image for what was deselected and stands there in disguise."""
