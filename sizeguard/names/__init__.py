"""Read names of symbols: demangle them, and find operator, kernel, dtype and component by rules.

Registration tables in an image are read here, too, since they name functions reliably.
"""
