"""What is known of each build system: its files, its commands, how it takes flags."""
