"""Names of the kinds of files that compilers and linkers make."""

from __future__ import annotations

PROGRAM, PIE, LIBRARY = "executable", "position-independent executable", "shared library"
OBJECT, BUNDLE = "relocatable object", "bundle"
