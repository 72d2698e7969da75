"""What runs in a maker's own environment: numpy, pandas, the maker's library, and nothing of the project."""
