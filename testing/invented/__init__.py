"""Invented registers, people, models and audits whose truth is known."""
