"""What an audit is expected to show before anything is spent (3-estimation §3)."""
