"""What every request passes: connections, bodies, callers, limits, problems, logs and metrics."""
