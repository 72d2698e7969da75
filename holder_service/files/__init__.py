"""Files of the holder's home: whole, durable and readable by their owner alone."""
