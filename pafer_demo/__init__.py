"""The demonstration: public data sets, a register that is made up, and an audit from end to end."""
