"""The auditor's errors: one tree, a class for each thing that a caller can act on.

Every text says what to do next. `AuditorError` is the base of all of them. A refusal by the holder
comes as a problem document; `refusal` turns its stable code into the class of that refusal.
"""

import copyreg
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from auditor_client.text import in_python
from shared.contract.approvals import Approval
from shared.privacy.amounts import Loss

_DECISIONS_MAX: Final = 20
_LOSS: Final = TypeAdapter(Loss)


class AuditorError(Exception):
    """The auditor's side cannot do something; the text says what would help.

    It names arguments and methods in backquotes, `where` or `Auditor.link`; a command writes the flags for them.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(in_python(text))


class ModelRefused(AuditorError):
    """A model cannot be read exactly as rules, so nothing is asked about it."""


class QuestionRefused(AuditorError):
    """The question does not fit the dataset, or would not cost what was meant; nothing is spent."""


class ExtraMissing(ModelRefused, QuestionRefused):
    """A library is not installed that only some installations need; the text names the extra that brings it.

    Attributes:
        extra: The extra of pafer.
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {library}, which is not installed. Install it: pip install 'pafer[auditor,{extra}]'."
        )
        self.what, self.library, self.extra = what, library, extra

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.library, self.extra)


EXTRAS: Final = {
    "defusedxml": "pmml", "fastapi": "desk", "lightgbm": "lightgbm", "matplotlib": "plots", "onnx": "onnx",
    "pandas": "pandas", "pyarrow": "parquet", "sklearn": "sklearn", "skops": "sklearn", "uvicorn": "desk",
    "xgboost": "xgboost",
}  # fmt: skip
"""The extra that brings each library."""
A_DATA_FRAME: Final = "A DataFrame"


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Name the extra if a library is not installed that is imported inside.

    Args:
        what: What needs it, as the beginning of a sentence.

    Raises:
        ExtraMissing: A library of `EXTRAS` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            raise
        raise ExtraMissing(what, library, EXTRAS[library]) from error


class OutcomeNotNamed(ModelRefused, QuestionRefused):
    """Nobody said which of the decisions is the good outcome for a person, and it is never guessed.

    Attributes:
        decisions: Those there are: name some of them as `favourable`.
    """

    def __init__(self, text: str, decisions: Sequence[str] = ()) -> None:
        if decisions:
            shown = " or ".join([*decisions[:_DECISIONS_MAX], *(["…"] if len(decisions) > _DECISIONS_MAX else [])])
            typed = " or ".join(f"`favourable` {one}" for one in decisions[:2])
            text = (
                f"{text} {shown}. Which of them is the good outcome for the person? The direction of every finding "
                f"depends on it, so it is not guessed: name it, such as {typed}."
            )
        super().__init__(text)
        self.decisions = tuple(decisions)


class ModelNamesItself(ModelRefused):
    """The model itself says which leaves are favourable and which columns it reads: nobody else can."""


class UnsafeModelFile(ModelRefused):
    """A model file is of a kind that can run code when it is opened (a pickle), or holds types not on the list."""


class EstimationRefused(AuditorError):
    """The answers do not allow the estimate that was asked for."""


class SettingsMissing(AuditorError):
    """The holder's address or the key is not set."""


class SignInNeeded(SettingsMissing):
    """Nobody is signed in, and there is no key; or what a sign-in left is no longer accepted."""


class SignInRefused(AuditorError):
    """A sign-in was not completed, or is not for this holder; it is not kept."""


class ProviderUnavailable(AuditorError):
    """The identity provider did not answer, or not as it has to. Try again in a moment."""


class SettingsRefused(AuditorError):
    """A setting cannot be used; the text names it and never shows a key."""


class ReceiptsDamaged(AuditorError):
    """A file in the receipts directory cannot be read, or cannot be written."""


class HolderUnavailable(AuditorError):
    """The holder did not answer within the bounded retries. Asking again is safe: the same plan is charged once."""


class HolderLied(AuditorError):
    """An answer contradicts its signature, its plan or an earlier receipt.

    Do not use it, and report it to the holder's administrator.
    """


class HolderRefused(AuditorError):
    """The holder refused, with a problem document; the base of the refusals that have a class of their own.

    Attributes:
        code: The problem's stable code.
        status: The HTTP status it came with.
        fields: The document's further fields, such as `requested` and `remaining`.
    """

    code = ""

    def __init__(self, detail: str, *, code: str, status: int, fields: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.status = status
        self.fields = fields or {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep all fields when the error is pickled between processes; by default only the text is kept."""
        return copyreg.__newobj__, (type(self), str(self)), self.__dict__  # type: ignore[attr-defined]  # not in typeshed

    def loss(self, name: str) -> Loss | None:
        """A privacy loss among the fields ("requested", "remaining"), if the holder sent it."""
        try:
            return _LOSS.validate_python(self.fields.get(name))
        except ValidationError:
            return None


class ApprovalAwaited(AuditorError):
    """A budget officer of the holder has to approve the request before it is answered; nothing was charged.

    The caller the same again once it is approved gets the answer.

    Attributes:
        approval: The request as the holder keeps it: what it costs, and until when it waits.
    """

    def __init__(self, text: str, approval: Approval) -> None:
        super().__init__(text)
        self.approval = approval

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the approval when the error is pickled between processes."""
        return type(self), (str(self), self.approval)


class Unauthenticated(HolderRefused):
    """The holder does not accept the key: set another."""


class Forbidden(HolderRefused):
    """The key's role or grants do not allow the call."""


class NotFound(HolderRefused):
    """Nothing of that name, or nothing that this auditor may see."""


class BudgetExhausted(HolderRefused):
    """The auditor's budget does not suffice: `loss("requested")` and `loss("remaining")` say by how much."""


class CapExhausted(HolderRefused):
    """The population's cap over all auditors does not suffice."""


class ApprovalDeclined(HolderRefused):
    """A budget officer declined the request; the text has the reason. It stands until the request expires."""


class VersionGone(HolderRefused):
    """The plan pins a version of the records that is neither current nor already answered."""


class NoRecords(HolderRefused):
    """The dataset is declared but its records are not loaded yet."""


class InvalidPlanRefused(HolderRefused):
    """The holder refuses the plan; the text names the path of the fault."""


class ColumnNotReady(HolderRefused):
    """The holder still makes a derived column that the plan names; asking again is safe."""


class ColumnRefused(HolderRefused):
    """The holder refuses linked values, or has no room for another derived column; the text says why."""


class RateLimited(HolderRefused):
    """Too many requests, even after waiting as long as the holder asked."""


_REFUSALS: Final[Mapping[str, type[HolderRefused]]] = {
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not-found": NotFound,
    "budget-exhausted": BudgetExhausted,
    "cap-exhausted": CapExhausted,
    "approval-declined": ApprovalDeclined,
    "version-gone": VersionGone,
    "no-records": NoRecords,
    "column-not-ready": ColumnNotReady,
    "conflict": ColumnRefused,
    "invalid-records": ColumnRefused,
    "rate-limited": RateLimited,
    **dict.fromkeys(
        ("invalid-request", "invalid-amount", "invalid-plan", "unknown-column", "sensitive-column", "too-large"),
        InvalidPlanRefused,
    ),
}


def refusal(detail: str, *, code: str, status: int, fields: dict[str, Any]) -> HolderRefused:
    """The error for a problem document; `HolderRefused` itself for a code that this version does not know."""
    return _REFUSALS.get(code, HolderRefused)(detail, code=code, status=status, fields=fields)
