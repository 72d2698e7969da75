"""The findings of an answer: its counts read as measurements, estimated by a named estimator, and rule by rule."""
