"""The comparison of private and fair learners (7-training §4): ours, the published ones, and libraries of others."""
