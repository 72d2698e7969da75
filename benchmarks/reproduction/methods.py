"""The ways to estimate that are compared: the paper's with three mechanisms, its two slips, and the product's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import AuditRequest
from benchmarks.reproduction import as_published
from benchmarks.reproduction.as_published import SlippedMechanism
from shared.privacy.amounts import format_nano

GAUSSIAN_DELTA_NANO: Final = 10**6
"""The same δ as the slipped Gaussian has, so that the two differ by the slip alone."""


@dataclass(frozen=True, slots=True)
class Method:
    """A mechanism, a strategy and an estimator.

    Attributes:
        name: In results and file names.
        label: In figures and tables.
        mechanism: The holder's; None where an experiment draws its own noise.
        slipped: The experiment's own, where the mechanism is not the holder's.
        posterior: Whether strategy `verdict` is asked and the posterior taken, or `pafer` and the paper's procedure.
    """

    name: str
    label: str
    mechanism: str | None = None
    slipped: SlippedMechanism | None = None
    posterior: bool = False

    def request(self, sensitive: Sequence[str], epsilon_nano: int, *, people: int) -> AuditRequest:
        """What to ask at this method's mechanism and by its strategy.

        Args:
            sensitive: By which columns.
            epsilon_nano: The whole ε.
            people: How many the records have; public here, and the exponential mechanism's largest answer.
        """
        if self.mechanism is None:
            raise ValueError(f"{self.name} is not a mechanism of the holder.")
        gaussian, exponential = self.mechanism == "gaussian", self.mechanism == "exponential"
        return AuditRequest(
            sensitive=tuple(sensitive),
            epsilon=format_nano(epsilon_nano),
            strategy="verdict" if self.posterior else "pafer",
            mechanism=self.mechanism,
            delta=format_nano(GAUSSIAN_DELTA_NANO) if gaussian else None,
            upper=people if exponential else None,
        )


LAPLACE: Final = Method("laplace", "Laplace", mechanism="laplace")
EXPONENTIAL: Final = Method("exponential", "exponential, calibrated", mechanism="exponential")
GAUSSIAN: Final = Method("gaussian", "Gaussian, calibrated", mechanism="gaussian")
EXPONENTIAL_AS_PUBLISHED: Final = Method(
    "exponential-as-published", "exponential, as published", slipped=as_published.exponential
)
GAUSSIAN_AS_PUBLISHED: Final = Method("gaussian-as-published", "Gaussian, as published", slipped=as_published.gaussian)
PRODUCT: Final = Method("product", "product (verdict, posterior)", mechanism="laplace", posterior=True)

METHODS: Final = (LAPLACE, EXPONENTIAL, GAUSSIAN, EXPONENTIAL_AS_PUBLISHED, GAUSSIAN_AS_PUBLISHED, PRODUCT)
