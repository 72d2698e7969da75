"""Estimates from the answers: posteriors, intervals and metrics from noisy counts alone (3-estimation §2)."""
