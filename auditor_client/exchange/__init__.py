"""What goes over the line: calls to the holder, answers verified before they are used, receipts (4-interface)."""
