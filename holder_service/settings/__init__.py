"""The holder's settings, from the environment alone, and its secrets from variables or files."""
