"""Models learned from the records, through noise alone (7-training)."""
