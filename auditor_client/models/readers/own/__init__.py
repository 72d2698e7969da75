"""Readers of our own JSON format and of rule lists."""
