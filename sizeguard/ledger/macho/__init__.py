"""Ledgers of Mach-O images and universal binaries."""
