"""The contract between holder and auditor: types that both sides use, and nothing else.

Every type here is frozen and checks itself, so an object that exists is valid. Nothing here
opens a file, a socket or a database. `flags` is for both command lines alone. Specification: 4-interface.
"""
