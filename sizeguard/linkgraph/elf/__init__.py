"""Section graphs of ELF links."""
