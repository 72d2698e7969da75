"""Models of other makers, read and compared: 200 random ones of each format, and files that are damaged on purpose.

    ./run check model_formats [FORMAT ...] [--models 200] [--mutations 1000]

Every model is fitted by its maker on random data with missing values, rare categories and numbers that round, or is
written by the rules of its format. What was read has to decide as the maker does on thousands of invented records
that sit on and beside every threshold.
"""
