"""The exchange with the holder: calls, answers verified before they are used, receipts (4-interface)."""
