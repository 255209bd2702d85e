"""Commands, one file each: the options, one call, and the output.

Click passes each option as a parameter, so a command's function has as many parameters as options.
Its docstring is the help text. Such functions may be longer than 40 lines.
"""

COMPLETION = "_SIZEGUARD_COMPLETE"  # the variable with a shell's request: bash_complete
