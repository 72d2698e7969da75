"""Datasets, budgets on them, and files that the holder reads by URL."""
