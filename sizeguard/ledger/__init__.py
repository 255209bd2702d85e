"""Ledgers: exact partitions of an image's file and memory, where every byte has one owner."""
