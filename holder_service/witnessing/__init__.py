"""Witnesses of ledgers (C2SP `tlog-witness`): asking them, and being one."""
