"""The C++ sources of native/, read as text."""
