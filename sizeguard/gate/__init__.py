"""The gate: judge builds and measurements by a policy."""
