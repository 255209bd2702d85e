"""Build variants of native/, import models for them, and trace models on them."""
