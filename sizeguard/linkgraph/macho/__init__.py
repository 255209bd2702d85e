"""Section graphs of Mach-O links."""
