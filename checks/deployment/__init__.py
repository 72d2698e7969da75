"""The files of docs/deployment, each by the linter of the program that reads it."""
