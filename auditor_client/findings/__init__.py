"""What an answer says: its counts read as measurements, estimated by a named estimator, and rule by rule."""
