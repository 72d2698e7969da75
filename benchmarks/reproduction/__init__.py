"""The paper reproduced from one command: every table and figure in its own form, and beside it what the product gives.

Source: 1-method §5. `python -m benchmarks.reproduction --help` says how; `docs/reproduction.md` says what came out.
"""
