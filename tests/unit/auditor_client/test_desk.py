"""The desk's door, asked without a browser and without a holder; its forms, and its files."""

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from pydantic import SecretStr

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.scope import scope_predicates
from auditor_client.audits.asking import OnHand, UntilDecided, made
from auditor_client.cli.spelling import PANELS
from auditor_client.desk.app import create_desk
from auditor_client.desk.asking import KINDS, AuditDraft
from auditor_client.desk.desk import Desk
from auditor_client.desk.fields import (
    field_of,
    first_fields,
    first_training_fields,
    in_labels,
    link_fields,
    sections,
    training_sections,
    values_of,
)
from auditor_client.desk.pages import page, section_of
from auditor_client.desk.tasks import Step
from auditor_client.desk.trainings import KINDS as TRAINED_BY
from auditor_client.errors import QuestionRefused
from auditor_client.findings.about import About
from auditor_client.findings.reading import UNREAD_BY_TRAININGS, Reading
from auditor_client.settings import AuditorSettings
from shared.contract.blocks import Blocks
from testing.registers import LOANS, REGISTER
from testing.waits import wait_until

PORT: Final = 8811
URL: Final = f"http://127.0.0.1:{PORT}"


@dataclass(frozen=True)
class AskedDesk:
    """A desk that is called without a network."""

    desk: Desk

    @property
    def root(self) -> str:
        return self.desk.door.root

    @property
    def token(self) -> str:
        """The one-time token's path."""
        return self.desk.door.address.removeprefix(URL)

    def ask(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, raises: bool = True, **sent: Any
    ) -> httpx.Response:
        """An answer to a browser that was let in, unless other headers are given."""
        given = {"cookie": f"desk={self.desk.door._session}", **(headers or {})}

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(create_desk(self.desk), raise_app_exceptions=raises)
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                return await client.request(method, path, headers=given, **sent)

        return asyncio.run(asked())


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedDesk]:
    desk = Desk(
        AuditorSettings(holder_url="http://127.0.0.1:9", api_key=SecretStr("pafer_0"), receipts=tmp_path / "receipts"),
        PORT,
    )
    yield AskedDesk(desk)
    desk.close()


STRANGERS: Final[dict[str, tuple[dict[str, str], int]]] = {
    "no cookie": ({"cookie": ""}, 403),
    "another cookie": ({"cookie": "desk=guessed"}, 403),
    "another name of this machine": ({"host": "rebound.example"}, 421),
    "another port": ({"host": "127.0.0.1:1"}, 421),
    "another site's request": ({"sec-fetch-site": "cross-site"}, 403),
    "another port's request": ({"sec-fetch-site": "same-site"}, 403),
}


@pytest.mark.parametrize("who", STRANGERS)
def test_the_door_keeps_strangers_out_of_every_page(asked: AskedDesk, who: str) -> None:
    changed, status = STRANGERS[who]
    for path, inside in (("", 200), ("/bundles", 200), ("/static/desk.css", 200), ("/no-such-page", 404)):
        assert asked.ask("GET", f"{asked.root}{path}").status_code == inside
        refused = asked.ask("GET", f"{asked.root}{path}", headers=changed)
        assert refused.status_code == status
        assert "<" not in refused.text
        assert asked.root not in refused.text + str(refused.headers)


def test_a_cookie_of_another_server_under_the_same_name_shuts_nobody_out(asked: AskedDesk) -> None:
    both = {"cookie": f"desk={asked.desk.door._session}; desk=planted"}

    assert asked.ask("GET", asked.root, headers=both).status_code == 200


async def unknown_length() -> AsyncIterator[bytes]:
    yield b"x"


def test_a_nul_in_an_address_or_a_form_is_refused(asked: AskedDesk) -> None:
    addresses = [f"{asked.root}/budgets%00", f"{asked.root}/approvals/a%00b", f"{asked.root}/new?dataset=a%00b"]
    forms = [{"dataset": "a\0b"}, {"model": "a\0b"}, {"a\0b": "c"}]
    token = {"form_token": asked.desk.door.form_token}

    answers = [asked.ask("GET", address) for address in addresses]
    sent = [asked.ask("POST", f"{asked.root}/new", data=token | form) for form in forms]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert [answer.status_code for answer in sent] == [422] * 3
    assert all("NUL" in answer.text for answer in (*answers, *sent))


def test_a_form_needs_its_token_its_origin_and_its_length(asked: AskedDesk) -> None:
    path, fields = f"{asked.root}/new", {"dataset": "register", "decision": "citizen"}
    good = {**fields, "form_token": asked.desk.door.form_token}

    assert asked.ask("POST", path, data=fields).status_code == 403
    assert asked.ask("POST", path, data={**fields, "form_token": "guessed"}).status_code == 403
    assert asked.ask("POST", path, data=good, headers={"origin": "http://127.0.0.1:1"}).status_code == 403
    assert asked.ask("POST", path, content=unknown_length()).status_code == 413
    assert asked.ask("POST", path, content=b"", headers={"content-length": str(2**40)}).status_code == 413
    assert asked.ask("PUT", path).status_code == 405
    assert asked.desk.drafts == {}
    assert asked.ask("POST", path, data=good, headers={"origin": "null"}).status_code == 303
    assert len(asked.desk.drafts) == 1


def test_the_token_lets_one_browser_in_and_a_second_one_shuts_both_out(asked: AskedDesk) -> None:
    stranger = {"cookie": ""}
    assert asked.ask("GET", "/enter/guessed", headers=stranger).status_code == 403
    assert asked.ask("HEAD", asked.token, headers=stranger).status_code == 403, "a preview does not use it up"
    entered = asked.ask("GET", asked.token, headers=stranger)
    assert (entered.status_code, entered.headers["location"]) == (303, asked.root)
    written = [one.split("; ") for one in entered.headers.get_list("set-cookie")]
    assert [sorted(parts[1:]) for parts in written] == [
        ["HttpOnly", f"Path={path}", "SameSite=strict"] for path in (asked.root, "/enter/")
    ]
    session, entrant = ({"cookie": parts[0]} for parts in written)
    assert asked.ask("GET", asked.root, headers=session).status_code == 200
    again = asked.ask("GET", asked.token, headers=entrant)
    assert again.status_code == 403
    assert asked.root not in again.text + str(again.headers), "whoever got that cookie does not learn the path"
    assert asked.ask("GET", asked.root, headers=session).status_code == 200, "the same browser may come again"
    assert asked.ask("GET", asked.token, headers=stranger).status_code == 403
    assert asked.ask("GET", asked.root, headers=session).status_code == 403


def test_a_token_that_is_too_old_lets_nobody_in(asked: AskedDesk) -> None:
    asked.desk.door._expires -= 601

    assert asked.ask("GET", asked.token, headers={"cookie": ""}).status_code == 403


def test_files_are_private_and_keep_no_path(asked: AskedDesk) -> None:
    draft = asked.desk.draft(AuditDraft, "register")

    kept = asked.desk.keep_file(draft.folder, "../../etc\\passwd\n", io.BytesIO(b"x"))

    assert kept.name == "passwd_"
    assert kept.parent.parent == draft.folder
    assert all(one.stat().st_mode & 0o077 == 0 for one in (kept, kept.parent, draft.folder))
    asked.desk.close()
    assert not kept.exists()


def test_what_an_audit_can_be_asked_the_desk_can_be_asked() -> None:
    """Every flag of `auditor audit` is a field of the form, or one that the page shows in its own way."""
    with_blocks = REGISTER.model_copy(update={"blocks": Blocks(column="education")})
    fields = [*first_fields(with_blocks), *(one for section in sections(with_blocks).values() for one in section)]
    names = [one.name for one in fields]
    apart = {"sensitive", "epsilon", "metrics", "decision", "chain"}
    flags = {
        name
        for kind in (AuditRequest, Assumption, Reading, OnHand, UntilDecided, About)
        for name, info in kind.model_fields.items()
        if info.description is not None and info.annotation is not Assumption
    }

    assert len(set(names)) == len(names)
    assert set(names) | apart == flags
    assert {one.name for one in first_fields(with_blocks)} - {one.name for one in first_fields(REGISTER)} == {"block"}
    assert {name for kind in KINDS for name in kind.model_fields} <= {
        name for kind in PANELS for name in kind.model_fields
    }


def test_work_is_shown_in_the_section_where_it_was_begun() -> None:
    begun = {
        "/new/a": "New audit", "/trainings/new/a": "Trainings", "/audits/a": "Audits", "/approvals/register/a": "Audits"
    }  # fmt: skip

    assert {path: section_of(path) for path in begun} == begun


def test_a_page_of_work_that_ends_while_it_is_made_looks_again(
    asked: AskedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would show that nothing is done yet, for ever."""
    may_end = threading.Event()

    def act(_: Step) -> str:
        may_end.wait(60)
        return "/budgets"

    task = asked.desk.tasks.begin("Planning", "/new", act)

    def made_late(*given: Any, **shown: Any) -> Any:
        response = page(*given, **shown)
        may_end.set()
        wait_until(lambda: task.ended)
        return response

    monkeypatch.setattr("auditor_client.desk.asking.page", made_late)
    first = asked.ask("GET", f"{asked.root}/tasks/{task.id}")
    then = asked.ask("GET", f"{asked.root}/tasks/{task.id}")

    assert (first.status_code, first.headers["Refresh"]) == (200, "2")
    assert (then.status_code, then.headers["location"]) == (303, f"{asked.root}/budgets")


def test_pages_name_the_whole_path_of_the_receipts() -> None:
    desk = Desk(AuditorSettings(holder_url="http://127.0.0.1:9", receipts=Path("receipts")), PORT)

    assert str(Path("receipts").absolute()) in AskedDesk(desk).ask("GET", desk.door.root).text
    desk.close()


def test_no_field_speaks_of_flags_or_settings() -> None:
    sections_of = (*sections(REGISTER).values(), *training_sections(LOANS, ["loans"]).values())
    first = (first_fields(REGISTER), first_training_fields(LOANS), link_fields(REGISTER))
    hints = {one.name: one.hint for fields in (*first, *sections_of) for one in fields}

    for name, hint in hints.items():
        for word in ("[", "--", "AUDITOR_", "`", "Given several times", "epsilon", "NAME"):
            assert word not in hint, (name, hint)
    assert hints["people"].endswith("if you know it. If empty: as many as your own data have.")
    assert hints["mechanism"].endswith("As usual: what the dataset takes.")


def test_what_a_training_can_be_asked_the_desk_can_be_asked() -> None:
    """Every flag of `auditor train` is a field of the form, or one that the page shows in its own way."""
    sections_of = training_sections(LOANS, ["loans"])
    names = [one.name for fields in (first_training_fields(LOANS), *sections_of.values()) for one in fields]
    flags = {
        name
        for kind in TRAINED_BY
        for name, info in kind.model_fields.items()
        if info.description is not None and name not in UNREAD_BY_TRAININGS
    }

    assert len(set(names)) == len(names)
    assert {*names, "sensitive", "features", "epsilon"} == flags
    assert {one.name: one.options for one in first_training_fields(LOANS)}["label"] == ("repaid",)


def test_what_is_typed_becomes_what_the_flags_would_be() -> None:
    typed = {
        "where": "age > 3\nregion in (a, b)",
        "favourable": "yes, maybe",
        "edges": " ",
        "level": "0.9",
        "reuse": "on",
    }

    assert values_of(typed, KINDS) == {
        "where": ["age > 3", "region in (a, b)"], "favourable": ["yes", "maybe"], "level": "0.9", "reuse": True,
        "join": False, "joint": False, "outcome_test": False, "until_decided": False,
    }  # fmt: skip


def test_an_error_names_fields_by_their_labels() -> None:
    text = "`level`: not a number; give `where`, or see `Auditor.columns`."

    assert (
        in_labels(text) == "“Level of the intervals”: not a number; give “Only people with”, or see `Auditor.columns`."
    )
    assert field_of(text, {"where", "level"}) == "level"
    assert field_of("Nothing is named.", {"where"}) is None
    checked = "epsilon: Value error, epsilon must lie between 0.001 and 10."
    assert in_labels(checked) == "“Privacy loss ε”: epsilon must lie between 0.001 and 10."
    assert field_of(checked, {"epsilon"}) == "epsilon"
    assert in_labels("nothing: that is a field.") == "nothing: that is a field."
    assert in_labels("Say it (--intervention); name another with --people.") == (
        "Say it (“Kind of decision”); name another with “How many people”."
    )


def test_a_refusal_names_its_field_in_plain_words() -> None:
    with pytest.raises(QuestionRefused) as of_scope:
        scope_predicates(("age > many",), LOANS.table)
    with pytest.raises(QuestionRefused) as of_people:
        made(Assumption, {"people": "many"})

    assert field_of(str(of_scope.value), {"where"}) == "where"
    assert str(of_people.value).startswith("`people`: has to be a whole number; not 'many'.")


def test_a_fault_of_the_desk_is_a_page(asked: AskedDesk) -> None:
    del asked.desk.waiting

    found = asked.ask("GET", asked.root, raises=False)

    assert found.status_code == 500
    assert "This is a bug: please report it." in found.text
    assert "content-security-policy" in found.headers
