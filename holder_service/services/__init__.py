"""What the holder does, one readable function for each thing; each orders the work, the layers below do it."""
