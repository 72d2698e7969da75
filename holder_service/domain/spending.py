"""Sums of charges: those in ε and δ, and those in ρ, are added up separately."""

from shared.privacy.amounts import Loss, format_nano


class Spending:
    """A number of charges, and their sum."""

    def __init__(self) -> None:
        self.charges = 0
        self.epsilon_nano = 0
        self.delta_nano = 0
        self.rho_nano = 0

    def add(self, loss: Loss) -> None:
        """Add a charge. A charge in ρ adds to neither ε nor δ."""
        self.charges += 1
        if loss.rho_nano is None:
            self.epsilon_nano += loss.epsilon_nano
            self.delta_nano += loss.delta_nano
        else:
            self.rho_nano += loss.rho_nano

    @property
    def text(self) -> str:
        """The sums for people, for example "ε 0.3" or "ρ 0.01"."""
        amounts = (("ε", self.epsilon_nano), ("δ", self.delta_nano), ("ρ", self.rho_nano))
        return ", ".join(f"{name} {format_nano(nano)}" for name, nano in amounts if nano) or "nothing"

    def document(self) -> dict[str, str]:
        """Return the sums as decimal strings, without those that are zero."""
        amounts = (("epsilon", self.epsilon_nano), ("delta", self.delta_nano), ("rho", self.rho_nano))
        return {name: format_nano(nano) for name, nano in amounts if nano}
