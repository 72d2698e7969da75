"""The loss bounded from outside: releases on neighbouring records, drawn through the real code (2-privacy §9).

Nothing here is needed to answer anybody. `holder audit-privacy` draws, and prints the bounds next to the charges.
"""
