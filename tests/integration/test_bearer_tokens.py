"""Tokens of an identity provider stand for keys: they open the account that they name, and none that nobody opened."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holder_service.domain.errors import Forbidden
from holder_service.identity.tokens import Identity
from holder_service.services.accounts.access import NO_ACCOUNT, caller_of
from holder_service.web.edge.logs import JsonLines
from holder_service.web.edge.rate_limits import RateLimits
from testing.holders import TestedHolder, opened, stopped_holder
from testing.identity_providers import InventedProvider, identity_provider
from testing.kept_logs import logged
from testing.refusals import refused
from testing.registers import plan


@pytest.fixture(scope="module")
def provider() -> Iterator[InventedProvider]:
    with identity_provider() as one:
        yield one


@pytest.fixture(scope="module")
def holder(provider: InventedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder that accepts the provider's tokens, with an account for each role."""
    stopped = stopped_holder(tmp_path_factory.mktemp("tokens"))
    settings = replace(stopped.settings, oidc=provider.settings(), requests_per_s=1000)
    with opened(settings, stopped.admin_key, stopped.auditor_key) as serving:
        for name in ("disabled", "other"):
            serving.open_auditor(name)
        serving.admin("PATCH", "/auditors/disabled", json={"disabled": True})
        yield serving


def test_a_token_asks_as_its_account_and_a_key_still_does(holder: TestedHolder, provider: InventedProvider) -> None:
    token = provider.token()
    first = holder.release(plan(), key=token)

    assert first.status_code == 201, first.text
    assert holder.release(plan()).json() == first.json()
    assert holder.entries()[-1]["auditor"] == "ADR"
    administrator = provider.token(sub="administrator", roles=["pafer-auditors", "pafer-admins"])
    assert holder.auditor("GET", "/admin/auditors", key=administrator).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "nobody"}, {"sub": "disabled"}, {"sub": "adr"}, {"roles": []}, {"roles": ["pafer-admins"]},
        {"sub": "administrator"}, {"sub": "x' OR '1'='1"},
    ],
)  # fmt: skip
def test_who_has_no_account_in_their_role_is_refused_alike(
    holder: TestedHolder, provider: InventedProvider, claims: dict[str, Any]
) -> None:
    before = holder.entries()[-1]["sequence"]
    with logged() as records:
        answer = holder.auditor("GET", "/datasets", key=provider.token(**claims))

    refused(answer, "forbidden", holder=holder)
    name = claims.get("sub", "ADR")
    account = "an account of another name than yours" if "'" in name else f"the account {name!r}"
    assert answer.json()["detail"] == NO_ACCOUNT.format(account=account)
    assert [vars(one)["reason"] for one in records if one.msg == "token refused"] == ["account"]
    assert holder.entries()[-1]["sequence"] == before


@pytest.mark.parametrize("name", ["A\0DR", "\ud800", "ADR\n"])
def test_what_is_no_name_is_looked_up_in_no_database(
    lasting_holders: TestedHolder, provider: InventedProvider, name: str
) -> None:
    identity = Identity(name, frozenset(), datetime.now(UTC) + timedelta(minutes=1), provider.issuer)
    with pytest.raises(Forbidden) as refusal:
        caller_of(lasting_holders.holder.store, identity)

    assert refusal.value.detail == NO_ACCOUNT.format(account="an account of another name than yours")


def test_a_token_for_an_auditor_opens_nothing_of_an_administrator(
    holder: TestedHolder, provider: InventedProvider
) -> None:
    both = provider.token(roles=["pafer-auditors", "pafer-admins"])

    refused(holder.auditor("GET", "/admin/auditors", key=both), "forbidden", holder=holder)


def test_where_no_roles_are_mapped_a_token_opens_auditors_accounts_alone(
    provider: InventedProvider, tmp_path: Path
) -> None:
    """An account claim that people choose themselves must not make an administrator of whoever is called so."""
    stopped = stopped_holder(tmp_path)
    with opened(
        replace(stopped.settings, oidc=provider.settings(roles=())), stopped.admin_key, stopped.auditor_key
    ) as holder:
        auditor = holder.auditor("GET", "/datasets", key=provider.token(roles=[]))
        named = provider.token(sub="administrator", roles=["administrator", "pafer-admins"])
        refused(holder.auditor("GET", "/admin/auditors", key=named), "forbidden", holder=holder)
        refused(holder.auditor("GET", "/datasets", key=named), "forbidden", holder=holder)

    assert auditor.status_code == 200


def test_an_account_that_is_closed_is_closed_to_its_token_at_once(
    holder: TestedHolder, provider: InventedProvider
) -> None:
    token = provider.token(sub="other")
    assert holder.auditor("GET", "/datasets", key=token).status_code == 200

    holder.admin("PATCH", "/auditors/other", json={"disabled": True})
    refused(holder.auditor("GET", "/datasets", key=token), "forbidden", holder=holder)
    holder.admin("PATCH", "/auditors/other", json={"disabled": False})
    assert holder.auditor("GET", "/datasets", key=token).status_code == 200


def test_a_token_that_expires_ends_at_once(holder: TestedHolder, provider: InventedProvider) -> None:
    token = provider.token()
    assert holder.auditor("GET", "/datasets", key=token).status_code == 200
    clock = holder.holder.store.clock
    holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(hours=1)
    try:
        answer = holder.auditor("GET", "/datasets", key=token)
    finally:
        holder.holder.store.clock = clock

    refused(answer, "unauthenticated", holder=holder)
    assert "has expired" in answer.json()["detail"]


def test_no_token_is_logged_and_why_it_is_refused_is(holder: TestedHolder, provider: InventedProvider) -> None:
    good, bad = provider.token(), provider.token(iss="https://evil.example")
    with logged() as records:
        holder.auditor("GET", "/datasets", key=good)
        holder.auditor("GET", "/datasets", key=bad)
    lines = [json.loads(JsonLines().format(record)) for record in records]

    assert [line["reason"] for line in lines if line["event"] == "token refused"] == ["issuer"]
    assert [line.get("actor") for line in lines if line["event"] == "request"] == ["ADR", None]
    assert all(part not in json.dumps(lines) for token in (good, bad) for part in token.split("."))
    assert all("eyJ" not in record.getMessage() for record in records)


def test_keys_are_answered_while_the_provider_is_down(
    holder: TestedHolder, provider: InventedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.answers = False
    try:
        with holder.reopened() as again, caplog.at_level(logging.CRITICAL):
            answer = again.auditor("GET", "/datasets", key=provider.token())
            refused(answer, "unavailable", holder=again)
            assert "use an API key" in answer.json()["detail"]
            assert again.auditor("GET", "/datasets").status_code == 200
    finally:
        provider.answers = True


def test_all_tokens_of_an_account_share_its_rate(
    holder: TestedHolder, provider: InventedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New tokens are easily had: each of them asks at the account's cost, and from what its address may try.

    No time passes for the limits, however long a busy machine takes.
    """
    monkeypatch.setattr("holder_service.app.RateLimits", partial(RateLimits, clock=lambda: 0.0))
    limited = replace(holder.settings, requests_per_s=1)
    with opened(limited, holder.admin_key, holder.auditor_key) as again:
        tokens = [provider.token(jti=str(number)) for number in range(4)]
        found = [again.auditor("GET", "/datasets", key=tokens[number % 4]).status_code for number in range(16)]

        assert found.count(200) <= 11
        assert found[-1] == 429
        assert again.auditor("GET", "/datasets", key=holder.auditor_key).status_code in (200, 429)
