"""Evidence that claims are judged by: what objects, maps, logs and the image itself show."""
