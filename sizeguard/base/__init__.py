"""General helpers that every room may use: errors, files, hashes, threads, JSON and YAML."""

# Folder of a project for builds, worktrees and measurements; git ignores it.
OWN_FOLDER = ".sizeguard"
