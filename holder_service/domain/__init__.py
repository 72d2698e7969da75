"""What the holder promises, as pure computation: proof, price, ledger. No HTTP, no SQL, no noise."""
