"""Find every commit of a range that changed a metric, and by how many bytes."""
