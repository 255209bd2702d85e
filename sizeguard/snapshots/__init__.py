"""Save analyses as small files, and store results by the hash of their inputs."""
