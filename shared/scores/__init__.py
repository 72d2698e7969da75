"""Score documents: models in one small closed language, their reference evaluator, and derived columns."""
