"""Run the runtime under sanitizers, with many inputs."""
