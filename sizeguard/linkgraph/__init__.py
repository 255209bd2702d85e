"""Section graphs of links, which show the sections that a linker keeps, and why."""
