"""Reader of PMML files."""
