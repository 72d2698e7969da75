"""What an auditor requests and what the holder signs: plans, trainings, watches and their releases."""
