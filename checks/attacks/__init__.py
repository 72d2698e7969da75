"""What attackers get out of the holder, next to what they get without its defences (docs/attacks.md)."""
