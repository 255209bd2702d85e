"""Evidence for verdicts: the contents of objects, maps, logs and the image itself."""
