"""Forecasts of what an audit would show before anything is spent (3-estimation §3)."""
