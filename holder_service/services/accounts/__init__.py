"""Who may do what: keys, log-ins, populations and changes that need a second officer."""
