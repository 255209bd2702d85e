"""Programs and their files, .sgp."""
