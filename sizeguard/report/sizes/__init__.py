"""A report of sizes in every format."""
