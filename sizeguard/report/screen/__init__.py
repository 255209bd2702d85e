"""Tables, legends and words on a terminal, for all results."""
