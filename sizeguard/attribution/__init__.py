"""Attribution: rows of an image's bytes with labels by operator, kernel, dtype and other levels."""
