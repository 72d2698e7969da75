"""Keys of the holder's home: Ed25519 signing keys, and the key that seals watches in the database."""
