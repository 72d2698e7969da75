"""The records: checked when they are loaded, encoded in immutable files, counted (docs/adr/0004-encoded-records.md)."""
