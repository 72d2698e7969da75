"""Models in other makers' formats, read exactly as score documents over declared columns (5-decisions §3)."""
