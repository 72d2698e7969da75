"""Findings as pages, texts and documents; nothing here computes a figure (3-estimation §6)."""
