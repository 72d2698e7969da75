"""The REST interface: routers parse, call one service, and answer. Status numbers live in `problems.py` alone."""
