"""The result of the gate in every format."""
