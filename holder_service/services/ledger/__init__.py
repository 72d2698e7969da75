"""The ledger: the only door to a charge, its reading, verification, export and signing keys."""
