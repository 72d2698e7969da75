"""What each problem code means and what to do about it, in words."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Help(NamedTuple):
    """What happened, and what to do; `code` in backticks."""

    meaning: str
    remedy: str


HELP: Final[Mapping[str, Help]] = {
    "unauthenticated": Help(
        "The call does not have a key, or its key is unknown, withdrawn or expired, or its account is disabled. "
        "Or its token does not come from the identity provider, is not for this holder, or is not valid at this "
        "time.",
        "Send the key as `Authorization: Bearer <key>`. A new one comes from the holder's administrator, a new token "
        "from your identity provider.",
    ),
    "forbidden": Help(
        "The key is valid, but its role may not make this call; `x-roles` in the contract at "
        "`/openapi.json` lists the roles that may. Or the token is valid, but does not open an "
        "account.",
        "Use a key with a role that `detail` names. An administrator who wants to send plans opens "
        "an auditor's account. A token opens the account that it names, in a role that it has.",
    ),
    "not-found": Help(
        "This name or id does not exist, or this key may not see it.",
        "Use the list at the beginning of the call's path, such as `GET /v1/datasets`.",
    ),
    "method-not-allowed": Help(
        "The path exists, but does not support this method.",
        "Use a method that the contract at `/openapi.json` lists.",
    ),
    "unsupported-media-type": Help(
        "The body has a media type that the call does not support, or no media type.",
        "Send the `Content-Type` that `detail` names: `application/json` for documents, `text/csv` or "
        "`application/vnd.apache.parquet` for files.",
    ),
    "invalid-request": Help(
        "The body or a parameter is not valid: it is not JSON, a field is missing or unknown, or a value is not valid.",
        "`errors` lists each error with its path and what was expected. Fix them and send the request again.",
    ),
    "invalid-amount": Help(
        "An amount of ε or δ is not a decimal string, or is outside its public range.",
        'Write it as a string such as "0.1", with at most nine digits behind the point; `GET /v1/datasets/{dataset}` '
        "shows the range under `limits`.",
    ),
    "invalid-plan": Help(
        "The plan or the derived column contradicts itself or the dataset's declaration.",
        "`field` names the place and `detail` what was expected. Nothing was charged.",
    ),
    "unknown-column": Help(
        "A rule, or the list of sensitive columns, names a column that the dataset does not declare, or a derived "
        "column that you do not have.",
        "`GET /v1/datasets/{dataset}` lists the declared columns, `GET /v1/datasets/{dataset}/columns` your own.",
    ),
    "sensitive-column": Help(
        "A rule or a score names a sensitive column, or a derived one that follows from it, and the dataset does not "
        "declare `sensitive_in_rules`; or it names a column that was perturbed at its source.",
        "Name a sensitive column in the plan's `sensitive`, to count people by it. For rules by it "
        "ask the holder's administrator to declare `sensitive_in_rules`; rules can never name a "
        "perturbed column.",
    ),
    "too-large": Help(
        "The body exceeds the public limits, which bound the work of one call.",
        "Divide the request into several plans, or send less at once. `limit` or `limit_bytes` states the maximum.",
    ),
    "too-slow": Help(
        "The body did not arrive within the time limit of a call. Nothing was done.",
        "Send it again, over a faster connection if it is large.",
    ),
    "budget-exhausted": Help(
        "The request costs more than the remaining budget for the dataset's population. Nothing was charged.",
        "`requested` and `remaining` say how much. Lower ε, or ask the holder's administrator for more.",
    ),
    "cap-exhausted": Help(
        "The request costs more than the remaining cap of the population over all auditors. Nothing was charged.",
        "`requested` and `remaining` say how much. Lower ε, or ask the holder's administrator to raise the cap.",
    ),
    "approval-declined": Help(
        "Every request about this population requires an approval, and a budget officer of the "
        "holder declined this one. Nothing was charged.",
        "`reason` states the reason, and `expires` until when the decision applies. Send another "
        "request, or talk to the holder, who can change the decision.",
    ),
    "version-gone": Help(
        "The plan names a version of the records that was replaced, and that version does not have a stored answer.",
        "Request the current version, which `GET /v1/datasets/{dataset}` shows. This is another "
        "plan with its own price.",
    ),
    "no-records": Help(
        "The dataset is declared, but its records are not loaded, or were removed.",
        "Ask the holder's administrator to load them. You can request quotes in the meantime.",
    ),
    "already-charged": Help(
        "The request would change the terms of charged losses: the neighbouring relation, the "
        "person key or the sensitive columns.",
        "Declare a dataset with a population of its own instead.",
    ),
    "conflict": Help(
        "The request contradicts the recorded state, or another caller changed that state at the same time.",
        "`detail` states the contradiction. Look at the current state, and decide again.",
    ),
    "invalid-records": Help(
        "The file does not fit the declaration. Nothing was loaded, and the previous records remain.",
        "The errors are named by line and column, never by value. Fix the file or the declaration, "
        "and send the file again.",
    ),
    "column-not-ready": Help(
        "The plan names a derived column whose values are not ready yet. Nothing was charged.",
        "Wait as long as `Retry-After` says, then send the same plan again.",
    ),
    "rate-limited": Help(
        "This key or address sent more than the holder accepts in a short time. Nothing was done.",
        "Wait as long as `Retry-After` says, then send the request again.",
    ),
    "restore-unrecorded": Help(
        "The holder's database does not have the ledger entry that its anchor names: it was "
        "restored from an older copy. Until the restore is recorded, nothing is released or "
        "changed.",
        "An administrator records the restore, in the console or by `POST /v1/admin/ledger/restore`.",
    ),
    "unavailable": Help(
        "The holder's database or files do not respond. Nothing was charged without an answer.",
        "Wait as long as `Retry-After` says, then send the same request again. A plan is never charged twice.",
    ),
    "internal": Help(
        "The holder failed unexpectedly. Nothing left it without a charge.",
        "Send the request again. If it fails again, give the answer's `X-Request-Id` to the holder's administrator.",
    ),
}
