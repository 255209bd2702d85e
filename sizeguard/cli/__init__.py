"""Commands, one file each: the options, one call, and the output.

Click passes each option as a parameter, so a command's function has as many parameters as options.
Its docstring is the help text. Such functions may be longer than 40 lines.
"""

from sizeguard.base.tuning import collect_seldom

# Here, because importing click makes 17,000 objects: 25 searches for garbage, 6 ms.
collect_seldom()
