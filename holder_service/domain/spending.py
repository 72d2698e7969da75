"""Sums of charges: those in ε and δ, and those in ρ, are added up separately."""

from dataclasses import dataclass

from shared.privacy.amounts import Loss, format_nano


@dataclass(slots=True)
class Spending:
    """A number of charges, and their sum."""

    charges: int = 0
    epsilon_nano: int = 0
    delta_nano: int = 0
    rho_nano: int = 0

    def join(self, other: "Spending") -> None:
        """Add the charges of another sum."""
        self.charges += other.charges
        self.epsilon_nano += other.epsilon_nano
        self.delta_nano += other.delta_nano
        self.rho_nano += other.rho_nano

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
