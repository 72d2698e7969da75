"""What programs call: the REST interface of auditors and administrators (4-interface)."""
