"""From a request to a signed release: priced, approved, drawn, charged and stored."""
