"""Results as text, for people and for machines; nothing is computed here."""
