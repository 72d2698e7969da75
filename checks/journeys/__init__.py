"""Four persons' ways through the product, from empty environments: data engineer, auditor, director, developer."""
