"""Requests of auditors and answers that the holder signs: plans, trainings, watches and their releases."""
