"""Who visits the console: each request of somebody who is logged in, and what happens to other requests.

The session's cookie holds a random token; the store has its hash (`services.logins`).
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from holder_service.domain.errors import Forbidden, HolderError, Unauthenticated
from holder_service.services.accounts import logins
from holder_service.services.accounts.logins import Session
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases import approvals
from holder_service.services.running import notices
from holder_service.services.running.holder import Holder
from holder_service.web.console.cookies import Cookie, check_origin, form_token, opened, sealed
from holder_service.web.console.forms import Form, read_form
from holder_service.web.console.pages import LOG_IN, LOG_OUT, ROOT, Refusal, render
from holder_service.web.edge.dependencies import TheHolder
from holder_service.web.edge.roles import ADMINISTRATORS, OFFICERS, READERS, STEWARDS, Admission
from shared.contract.notices import Notice

SESSION_COOKIE: Final = Cookie("holder-session")
MESSAGE_COOKIE: Final = Cookie("holder-message")
MESSAGE_S_MAX: Final = 60


class Done(BaseModel):
    """What a redirect leaves for the next page: what was done, and whether that is good."""

    text: str
    good: bool


class LogInNeeded(Exception):
    """There is no session, or no longer."""


@dataclass(slots=True)
class Visit:
    """A request of one of the holder's own people who is logged in; the form that was sent, and why it was refused."""

    request: Request
    holder: Holder
    session: Session
    form: Form | None = None
    refusal: Refusal | None = None

    @property
    def store(self) -> LedgerStore:
        return self.holder.store

    @property
    def actor(self) -> str:
        """In whose name things are done."""
        return self.session.caller.name

    @property
    def rights(self) -> dict[str, bool]:
        """What a page offers to whoever visits, and the routes take from nobody else."""
        admissions = {"administer": ADMINISTRATORS, "declare": STEWARDS, "grant": OFFICERS}
        return {name: one.admits(self.session.caller) for name, one in admissions.items()}

    def page(self, template: str, *, section: str, **context: Any) -> Response:
        """A page of the console: with the message that a redirect left for it, a refusal, and what was refused."""
        kept = MESSAGE_COOKIE.read(self.request)
        response = render(
            template, refusal=self.refusal, entered=self.form if self.refusal else None, section=section,
            session=self.session, organisation=self.holder.settings.organisation,
            message=opened(self.session.token, kept, Done), form_token=form_token(self.session.token),
            here=self.request.url.path, may=self.rights, marks=self._marks(), **context,
        )  # fmt: skip
        if kept:
            MESSAGE_COOKIE.delete(response, self.request)
        return response

    def _marks(self) -> dict[str, str]:
        """Return what stands beside a section's name: how many requests wait for an approval, if any do."""
        try:
            number = len(approvals.waiting(self.store))
        except HolderError:  # a page that says so is shown without
            return {}
        return {"approvals": f"{number} {'waits' if number == 1 else 'wait'}"} if number else {}

    def notices(self) -> tuple[Notice, ...]:
        """Return what to act on now."""
        return notices.now_of(self.store, self.holder.settings.thresholds)

    def done(self, path: str, text: str, *, good: bool = True) -> Response:
        """Go to a page and say there, once, what was done."""
        response = RedirectResponse(path, status_code=303)
        message = sealed(self.session.token, {"text": text, "good": good})
        MESSAGE_COOKIE.set(response, self.request, message, max_age_s=MESSAGE_S_MAX)
        return response

    def refused(self, refusal: Refusal) -> Response:
        """A page that says why something was not done, and nothing else."""
        self.refusal = refusal
        return self.page("refusal.html.j2", section="")


Handler = Callable[..., Response]


def or_again(page: Handler) -> Callable[[Handler], Handler]:
    """Answer a form that is refused with a page that says why and still has what was typed.

    The page takes what it needs of the form's own arguments, by name.
    """

    def decorated(act: Handler) -> Handler:
        @wraps(act)
        def answer(visit: Visit, **named: Any) -> Response:
            try:
                return act(visit, **named)
            except (HolderError, ValidationError) as error:
                visit.refusal = Refusal.of(error)
                taken = signature(page).parameters
                return page(visit, **{name: value for name, value in named.items() if name in taken})

        return answer

    return decorated


class ConsoleRoute(APIRoute):
    """A route whose refusals are pages too; one that takes a form says who may send it."""

    def __init__(self, path: str, *arguments: Any, **named: Any) -> None:
        super().__init__(path, *arguments, **named)
        found = [one.call.admission for one in self.dependant.dependencies if isinstance(one.call, Visiting)]
        self.admission = found[0] if found else None
        if "POST" in (self.methods or ()) and self.admission is None and path not in (LOG_IN, LOG_OUT):
            raise TypeError(f"{path} does not say who may send its form: ask for a visit of some roles.")

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, whose errors become a page or the way to the log-in."""
        handle = super().get_route_handler()

        async def as_page(request: Request) -> Response:
            try:
                return await handle(request)
            except LogInNeeded:
                back = request.url.path if request.method == "GET" else ROOT
                return RedirectResponse(f"{LOG_IN}?then={quote(back, safe='')}", status_code=303)
            except HolderError as error:
                refusal = Refusal.of(error)
            except RequestValidationError:
                refusal = Refusal("not-found", "This page does not exist. Use the navigation.")
            visit: Visit | None = getattr(request.state, "visit", None)
            return visit.refused(refusal) if visit else render("refusal.html.j2", refusal=refusal)

        return as_page


def visitor(request: Request, holder: TheHolder) -> Visit:
    """Return who visits.

    Raises:
        LogInNeeded: Nobody who is logged in; or the key that opened the session is no longer in force.
    """
    try:
        oidc = holder.settings.oidc
        session = logins.resume(holder.store, SESSION_COOKIE.read(request), issuer=oidc.issuer if oidc else None)
    except (Unauthenticated, Forbidden):
        raise LogInNeeded from None
    request.state.caller = session.caller
    visit = Visit(request, holder, session)
    request.state.visit = visit
    return visit


@dataclass(frozen=True, slots=True)
class Visiting:
    """A visit of somebody who has one of some roles: what a route that changes something asks for."""

    admission: Admission

    async def __call__(self, visit: Annotated[Visit, Depends(visitor)]) -> Visit:
        """The visit, or a page that refuses.

        Raises:
            Forbidden: The visitor has none of the roles.
        """
        self.admission.require(visit.session.caller)
        return visit


Visitor = Annotated[Visit, Depends(visitor)]
"""Any of the holder's own people."""
AdministratorVisit = Annotated[Visit, Depends(Visiting(ADMINISTRATORS))]
StewardVisit = Annotated[Visit, Depends(Visiting(STEWARDS))]
OfficerVisit = Annotated[Visit, Depends(Visiting(OFFICERS))]
ReaderVisit = Annotated[Visit, Depends(Visiting(READERS))]


async def checked_form(request: Request, visit: Visitor) -> Form:
    """The fields of a form that this console gave out.

    Raises:
        Forbidden: It is another site's.
    """
    form = await read_form(request)
    check_origin(request, visit.session.token, form.text("form_token"))
    visit.form = form
    return form


CheckedForm = Annotated[Form, Depends(checked_form)]
