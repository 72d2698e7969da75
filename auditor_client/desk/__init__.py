"""The desk: an auditor's work as pages of this machine's own browser (docs/desk.md).

It does what the commands do, by the same calls; it keeps nothing but what they keep, the receipts and their notes.
"""
