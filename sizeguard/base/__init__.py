"""General helpers that every room may use: errors, files, hashes, threads, JSON and YAML."""
