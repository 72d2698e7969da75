"""Models of other makers, read exactly as neutral trees over declared columns (3-estimation §5)."""
