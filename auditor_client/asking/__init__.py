"""The question: a model's rules, a scope and a choice of mechanism, made into a plan (3-estimation §1)."""
