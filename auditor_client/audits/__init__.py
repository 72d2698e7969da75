"""Audits as their users hold them: results that show themselves, comparisons, history, evidence bundles."""
