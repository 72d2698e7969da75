"""What the holder keeps: the ledger and the releases in a database, the records in immutable files."""
