"""Derived columns: declared, linked and computed."""
