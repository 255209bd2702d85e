"""The commands of the command line, a file each: options, one call, and its result printed.

Click hands each option over as a parameter, so a command's function has as many parameters as
options, and its docstring is the help text. Such functions may be longer than 40 lines.
"""
