"""Long checks of the gate, of bisect and of whole results."""
