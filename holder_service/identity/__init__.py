"""The identity provider: what it publishes, and the tokens that it signs (docs/sign-in.md, docs/adr/0056)."""
