"""What an image could do without: findings with the bytes that each change wins."""
