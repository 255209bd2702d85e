"""Check the verifier on many builds that leak, and on many that do not."""
