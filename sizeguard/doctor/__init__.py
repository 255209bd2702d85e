"""Possible savings in an image: findings, each with a change and the bytes that it saves."""
