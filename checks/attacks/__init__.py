"""What attackers get out of the holder, beside what they get without its defences (docs/attacks.md)."""
