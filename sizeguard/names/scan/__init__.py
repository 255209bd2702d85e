"""Scan half a million mangled names at once for identifiers, namespaces and dtypes."""
