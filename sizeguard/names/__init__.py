"""Names of symbols: demangling, and operator, kernel, dtype and component by rules.

Registration tables in an image are read here, too: they name functions for certain.
"""
