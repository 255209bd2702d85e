"""Read PE images and COFF objects: sections, symbols, exports and unwind information."""
