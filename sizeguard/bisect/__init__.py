"""Find every commit of a range that moved a metric, each with its bytes."""
