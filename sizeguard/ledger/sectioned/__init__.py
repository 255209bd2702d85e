"""Ledgers of files that are parts with named ranges: PE, COFF and WASM."""
