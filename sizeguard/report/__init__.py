"""Format results as text for people and machines; nothing is computed here."""
