"""What callers reach: programs through `rest`, people through `console`, both through `edge` (4-interface)."""
