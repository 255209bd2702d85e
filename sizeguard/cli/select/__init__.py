"""Commands that read, merge and check operator selections."""
