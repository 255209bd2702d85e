"""Scan of half a million mangled names at once: identifiers, namespaces and dtypes in them."""
