"""Why sizes changed: objects, source lines and operators that grew, and what selecting saved."""
