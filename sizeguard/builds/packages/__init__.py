"""Images that are members of packages and archives."""
