"""Readers of models in other programs' formats, as score documents over declared columns (5-decisions §3)."""
