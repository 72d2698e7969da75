"""Which roles may make a call: declared with each route, by the type of its caller, and nowhere else.

A route below `/v1/` or for the metrics that declares none cannot be made. What is declared is enforced before a body
is read, and stands in the OpenAPI document as `x-roles`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from holder_service.domain.errors import Forbidden
from holder_service.services.accounts.access import STAFF, Caller
from shared.contract.datasets import Role

METRICS: Final = "/metrics"
PUBLIC_UNDER_V1: Final = frozenset({"/v1/keys", "/v1/sign-in"})
PUBLIC_LOG: Final = "/v1/log/"
"""The ledger's log, below this path: anybody may watch it."""
ROLES: Final = "x-roles"
"""The member of an operation in the OpenAPI document that lists the roles that may call it."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The roles that may make a call; as a route's dependency it gives the caller, or refuses."""

    roles: tuple[Role, ...]

    async def __call__(self, request: Request) -> Caller:
        """The caller, who has one of the roles."""
        caller: Caller = request.state.caller
        self.require(caller)
        return caller

    def admits(self, caller: Caller) -> bool:
        """Whether the caller has one of the roles."""
        return caller.role in self.roles

    def require(self, caller: Caller) -> None:
        """Refuse whoever has none of the roles.

        Raises:
            Forbidden: With the roles that may.
        """
        if not self.admits(caller):
            raise Forbidden(
                f"This call requires the role {' or '.join(self.roles)}; your key has the role "
                f"{caller.role}. Use another key."
            )


ADMINISTRATORS: Final = Admission(("administrator",))
STEWARDS: Final = Admission(("administrator", "data-steward"))
OFFICERS: Final = Admission(("administrator", "budget-officer"))
READERS: Final = Admission(STAFF)
AUDITORS: Final = Admission(("auditor",))
ASKERS: Final = Admission(("auditor", *STAFF))
METRICS_READERS: Final = Admission(("administrator", "viewer", "metrics"))

Administrator = Annotated[Caller, Depends(ADMINISTRATORS)]
Steward = Annotated[Caller, Depends(STEWARDS)]
Officer = Annotated[Caller, Depends(OFFICERS)]
Reader = Annotated[Caller, Depends(READERS)]
Auditor = Annotated[Caller, Depends(AUDITORS)]
AnyCaller = Annotated[Caller, Depends(ASKERS)]
MetricsReader = Annotated[Caller, Depends(METRICS_READERS)]


def needs_key(path: str) -> bool:
    """Whether a path is served to the holders of keys alone."""
    if path in PUBLIC_UNDER_V1 or path.startswith(PUBLIC_LOG):
        return False
    return path == METRICS or path.startswith("/v1")


def _admissions(dependant: Dependant) -> Iterator[Admission]:
    """Those that a route asks for, by itself or by what it depends on."""
    for one in dependant.dependencies:
        if isinstance(one.call, Admission):
            yield one.call
        yield from _admissions(one)


class RoleRoute(APIRoute):
    """A route that knows which roles may call it, and says so in the OpenAPI document."""

    def __init__(self, path: str, *arguments: Any, **named: Any) -> None:
        super().__init__(path, *arguments, **named)
        found = set(_admissions(self.dependant))
        if len(found) != needs_key(path):
            raise TypeError(f"{path} declares its caller's roles once, if it needs a key: one of {__name__}.")
        self.admission = found.pop() if found else None
        if self.admission is not None:
            self.openapi_extra = {**(self.openapi_extra or {}), ROLES: list(self.admission.roles)}
