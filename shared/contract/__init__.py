"""Declarations of datasets and predicates that select their records: schemas, rules, populations, accounts."""
