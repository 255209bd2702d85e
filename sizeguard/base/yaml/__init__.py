"""Read YAML with limits and line numbers, and write strings as YAML."""
