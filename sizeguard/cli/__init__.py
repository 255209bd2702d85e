"""The commands: one file each, which parses options, calls one function and prints."""
