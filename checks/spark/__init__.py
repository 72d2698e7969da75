"""The Spark engine against the local one, in real sessions: `./run spark`."""
