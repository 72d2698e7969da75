"""Bugs of which each would break the promise, to see that a test of ours finds each (`./run planted-bugs`)."""
