"""Findings as pages, texts and documents; no figure is computed here (3-estimation §6)."""
