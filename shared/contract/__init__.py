"""What a dataset declares and how predicates select its records: schemas, rules, populations, accounts."""
