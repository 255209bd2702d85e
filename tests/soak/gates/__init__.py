"""Run the gate and bisect on repositories with many changes."""
