"""Generate registration sources and selection headers."""
