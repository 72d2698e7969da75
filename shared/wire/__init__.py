"""The bases of every type on the wire: bounded requests, texts, times, canonical bytes, problems."""
