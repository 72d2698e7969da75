"""The paper reproduced from one command: every table and figure in its own form, with the product's results.

Source: 1-method §5. `python -m benchmarks.reproduction --help` says how; `docs/reproduction.md` has the results.
"""
