"""What ends a training whose learner asks for more than was paid for."""


class Overspent(RuntimeError):
    """A learner took a step that was not paid for: a fault of the holder's, so nothing is answered."""
