"""Work beside the answers: child processes, background threads and how long work takes."""
