"""Running a holder: start and stop, loads, back-ups, drills, notices, publication."""
