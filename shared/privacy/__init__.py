"""Privacy amounts as integers: losses, their composition, what is left of a budget, and the noise on a count."""
