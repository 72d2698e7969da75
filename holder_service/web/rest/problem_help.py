"""What each problem code means and what to do about it, in words."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Help(NamedTuple):
    """What happened, and what to do; `code` in backticks."""

    meaning: str
    remedy: str


HELP: Final[Mapping[str, Help]] = {
    "unauthenticated": Help(
        "The call has no key, or one that is unknown, withdrawn or expired, or its account is disabled. Or it has a "
        "token that is not the identity provider's, not for this holder, or not of this time.",
        "Send the key as `Authorization: Bearer <key>`. A new one comes from the holder's administrator, a new token "
        "from your identity provider.",
    ),
    "forbidden": Help(
        "The key is valid, and its role may not make this call: `x-roles` in the contract at `/openapi.json` lists the "
        "roles that may. Or a token is valid and opens no account.",
        "Use a key of the role that `detail` names. An administrator who wants to ask plans opens an auditor's "
        "account. A token opens the account of the name that it gives, in a role that it has.",
    ),
    "not-found": Help(
        "There is nothing of this name or id, or nothing that this key may see.",
        "Look at the list that the call's path begins with, such as `GET /v1/datasets`.",
    ),
    "method-not-allowed": Help(
        "The path exists and takes other methods.",
        "The contract at `/openapi.json` says which.",
    ),
    "unsupported-media-type": Help(
        "The body is of another media type than the call takes, or does not say of which it is.",
        "Send the `Content-Type` that `detail` names: `application/json` for documents, `text/csv` or "
        "`application/vnd.apache.parquet` for files.",
    ),
    "invalid-request": Help(
        "The body or a parameter is not of the form that the call takes: no JSON, a field that is missing or unknown, "
        "or a value that does not fit.",
        "`errors` lists each fault with its path and what would fit; mend them and ask again.",
    ),
    "invalid-amount": Help(
        "An amount of ε or δ is no decimal string, or outside its public range.",
        'Write it as a string such as "0.1", with at most nine digits behind the point; `GET /v1/datasets/{dataset}` '
        "shows the range under `limits`.",
    ),
    "invalid-plan": Help(
        "The plan or the derived column contradicts itself or what the dataset declares.",
        "`field` names the place and `detail` what would fit. Nothing was charged.",
    ),
    "unknown-column": Help(
        "A rule, or the list of sensitive columns, names a column that the dataset does not declare, or a derived "
        "column that you do not have.",
        "`GET /v1/datasets/{dataset}` lists the declared columns, `GET /v1/datasets/{dataset}/columns` your own.",
    ),
    "sensitive-column": Help(
        "A rule or a score names a sensitive column, or a derived one that follows from it, and the dataset does not "
        "declare `sensitive_in_rules`; or it names a column that was perturbed at its source.",
        "Name a sensitive column in the plan's `sensitive`, to count people by it. For rules by it ask the holder's "
        "administrator to declare `sensitive_in_rules`; a perturbed column stays in no rule.",
    ),
    "too-large": Help(
        "The body is larger than the public limits, which bound the work that one call can ask for.",
        "Ask in several plans, or send less at once; `limit` or `limit_bytes` says how much there may be.",
    ),
    "too-slow": Help(
        "The body did not come within the time that a call has. Nothing was done.",
        "Send it again, over a faster connection if it is large.",
    ),
    "budget-exhausted": Help(
        "What you ask costs more than your budget with the dataset's population has left. Nothing was charged.",
        "`requested` and `remaining` say how much. Lower ε, or ask the holder's administrator for more.",
    ),
    "cap-exhausted": Help(
        "What you ask costs more than the population's cap over all auditors has left. Nothing was charged.",
        "`requested` and `remaining` say how much. Lower ε, or ask the holder's administrator to raise the cap.",
    ),
    "approval-declined": Help(
        "Whatever is asked about this population has to be approved, and a budget officer of the holder declined this. "
        "Nothing was charged.",
        "`reason` says why, and `expires` until when that stands. Ask something else, or talk to the holder: what was "
        "decided can be changed.",
    ),
    "version-gone": Help(
        "The plan names a version of the records that was replaced, and it was not answered for that version.",
        "Ask for the current version, which `GET /v1/datasets/{dataset}` shows: that is another plan, with its price.",
    ),
    "no-records": Help(
        "The dataset is declared and its records are not loaded, or were taken away.",
        "Ask the holder's administrator to load them. Quotes can be had meanwhile.",
    ),
    "already-charged": Help(
        "What was asked would change what losses were charged in terms of: the neighbouring relation, the person key "
        "or the sensitive columns.",
        "Declare a dataset with a population of its own instead.",
    ),
    "conflict": Help(
        "What was asked contradicts what is recorded, or somebody changed it at the same moment.",
        "`detail` says what stands against it. Look at what there is now, and decide again.",
    ),
    "invalid-records": Help(
        "The file does not fit the declaration. None of it was taken, and the records before it stay.",
        "The faults are named by line and column, never by value. Mend file or declaration, and send it again.",
    ),
    "column-not-ready": Help(
        "The plan names a derived column whose values are not made yet. Nothing was charged.",
        "Wait as long as `Retry-After` says, then ask the same plan again.",
    ),
    "rate-limited": Help(
        "More came from this key or address in a short time than the holder takes. Nothing was done.",
        "Wait as long as `Retry-After` says, then ask again.",
    ),
    "restore-unrecorded": Help(
        "The holder's database lacks the ledger entry that its anchor holds: it was put back from an older copy. Until "
        "that is recorded, nothing is released or changed.",
        "An administrator records the restore, in the console or by `POST /v1/admin/ledger/restore`.",
    ),
    "unavailable": Help(
        "The holder's database or files do not answer now. Nothing was charged that was not answered.",
        "Wait as long as `Retry-After` says, then ask the same again: a plan is never charged twice.",
    ),
    "internal": Help(
        "The holder failed at something that nobody foresaw. Nothing left it that was not charged.",
        "Ask again; if it fails again, give the answer's `X-Request-Id` to the holder's administrator.",
    ),
}
