"""Audits of a register that two holders share: from two halves to report, note and bundle, and what is refused."""

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.errors import (
    ApprovalAwaited,
    EstimationRefused,
    HolderLied,
    HolderRefused,
    HolderUnavailable,
    NotFound,
    QuestionRefused,
    SettingsMissing,
)
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.two_holders import FOLDER
from auditor_client.models.tree import Tree
from holder_service.mechanisms.base import noisy_words
from holder_service.services.releases import priced
from shared.kinds.releases import Release, SigningKey, SigningKeys, signature_of, signed_bytes
from shared.scores.columns import DerivedColumn, column_id
from testing.holders import Served, TestedHolder, forked
from testing.invented.questions import leaf, split
from testing.registers import linked_column, linked_values, register_csv
from testing.two_holders import NAME, TwoHolders, halves_of, two_holders

OLD = Tree(split("age", 40, leaf("refused", False), leaf("granted", True)))
SAID = {
    "en": "two holders, neither of which has anybody’s sex or origin",
    "de": "zwei Registerhaltern, von denen keiner von irgendjemandem sex oder origin kennt",
    "fr": "deux détenteurs du registre, dont aucun ne connaît sex ou origin de qui que ce soit",
    "nl": "twee registerhouders, die geen van beide van iemand sex of origin kennen",
}


@pytest.fixture(scope="module")
def both(set_up_holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHolders]:
    """Two holders with a half of the small register each, for all tests of this file."""
    with two_holders(set_up_holder, tmp_path_factory.mktemp("two")) as found:
        yield found


def auditor_of(both: TwoHolders, receipts: Path, **given: Any) -> Auditor:
    return Auditor(holders=[(holder.url, holder.auditor_key) for holder in both], receipts=receipts, **given)


def spent(both: TwoHolders) -> list[float]:
    return [float(holder.spent(dataset=NAME)) for holder in both]


def women_and_men(tmp_path: Path) -> Path:
    """The register without its sensitive columns: what the auditor knows of the people."""
    lines = [",".join(line.split(",")[:5]) for line in register_csv().decode().splitlines()]
    file = tmp_path / "known.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_an_audit_by_three_groups_has_the_noise_of_both_and_both_receipts(both: TwoHolders, tmp_path: Path) -> None:
    before = spent(both)
    with auditor_of(both, tmp_path / "receipts") as auditor:
        result = auditor.audit(OLD, NAME, "origin", "2")

        batch = result.release.batches[0]
        assert batch.noise.terms == 2  # type: ignore[union-attr]
        assert abs(sum(sum(cell.counts) for cell in batch.cells) - 300) <= 60
        assert [now - then for now, then in zip(spent(both), before, strict=True)] == pytest.approx([2, 2])
        assert result.stored.second is not None
        releases = [
            Release.model_validate_json(one.receipt.read_bytes()) for one in (result.stored, result.stored.second)
        ]
        assert releases[0].shares is not None
        assert releases[1].shares is not None
        assert releases[0].shares.completes(releases[1].shares)
        assert auditor.verify().ok
        assert len(auditor.verify().checks) == 2

        again = auditor.audit(OLD, NAME, "origin", "2", reuse=False)
        assert again.difference == result.difference, "asked again it is the same answer"
    assert [now - then for now, then in zip(spent(both), before, strict=True)] == pytest.approx([2, 2])


def test_the_page_says_that_neither_has_anybodys_sex_in_four_languages(both: TwoHolders, tmp_path: Path) -> None:
    with auditor_of(both, tmp_path / "receipts") as auditor:
        result = auditor.audit(OLD, NAME, "origin", "1")

    for language, words in SAID.items():
        assert words in result.to_html(language=language), language
    page = " ".join(result.to_html().split())
    assert "Neither holder knows these values" in page
    assert "Only the holder knows" not in page
    assert "ε = 1 at each of the two holders" in page
    document = json.loads(result.to_json())
    assert document["release"]["shares"]["party"] == 1
    assert document["second_release"]["shares"]["party"] == 2


def test_of_two_groups_the_own_data_give_the_second(both: TwoHolders, tmp_path: Path) -> None:
    with auditor_of(both, tmp_path / "receipts") as auditor:
        result = auditor.audit(OLD, NAME, "sex", "5", supports_from=women_and_men(tmp_path))

    assert result.release.batches[0].counted_groups is not None
    assert result.parity.difference.low <= result.parity.difference.high


def test_kept_halves_are_read_again_and_a_bundle_verifies_offline(both: TwoHolders, tmp_path: Path) -> None:
    with auditor_of(both, tmp_path / "receipts") as auditor:
        result = auditor.audit(OLD, NAME, "origin", "1.5")
        reused = auditor.audit(OLD, NAME, "origin", "1")
        [*_, kept] = stored_history(auditor.receipts).audits
        path = write_bundle(tmp_path / "bundle.zip", [result], auditor.receipts)

    assert reused.reused
    assert kept.difference == result.difference
    found = check_bundle(path)
    assert found.ok, found
    assert len(found.fingerprints) == 2

    def changed(name_begins: str, path_now: Path) -> None:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(path_now, "w") as new:
            files = {name: old.read(name) for name in old.namelist()}
            [name] = [name for name in files if name.startswith(name_begins)]
            document = json.loads(files[name])
            word = document["batches"][0]["cells"][0]["shares"][0]
            document["batches"][0]["cells"][0]["shares"][0] = str((int(word) + 1) % 2**64)
            files[name] = json.dumps(document).encode()
            manifest = json.loads(files["manifest.json"])
            manifest["files"][name] = f"sha256:{hashlib.sha256(files[name]).hexdigest()}"
            files["manifest.json"] = json.dumps(manifest).encode()
            for one, content in files.items():
                new.writestr(one, content)

    for begins in ("receipts/", "second-holder/receipts/"):
        changed(begins, tmp_path / "changed.zip")
        assert not check_bundle(tmp_path / "changed.zip").ok, begins


def test_a_second_half_that_somebody_else_signed_is_found(both: TwoHolders, tmp_path: Path) -> None:
    """Whoever writes a bundle signs a second half that they made up, beside the first holder's true one."""
    keys = [tmp_path / "first.json", tmp_path / "second.json"]
    for holder, file in zip(both, keys, strict=True):
        file.write_bytes(httpx.get(f"{holder.url}/v1/keys").content)
    with auditor_of(both, tmp_path / "receipts") as auditor:
        result = auditor.audit(OLD, NAME, "origin", "1.7")
        true = write_bundle(tmp_path / "true.zip", [result], auditor.receipts)
    [second] = (tmp_path / "receipts" / FOLDER).glob(f"{result.release.id.removeprefix('sha256:')}.json")
    private = Ed25519PrivateKey.generate()
    made_up = SigningKey(
        id="0" * 16, algorithm="ed25519", valid_from=result.release.created,
        public_key=base64.b64encode(private.public_key().public_bytes_raw()).decode(),
    )  # fmt: skip
    forged = json.loads(second.read_bytes()) | {"key": made_up.id}
    cell = forged["batches"][0]["cells"][0]
    cell["shares"] = [str((int(word) + 1000) % 2**64) for word in cell["shares"]]
    second.write_text(json.dumps(forged | {"signature": signature_of(signed_bytes(forged), private)}))
    (second.parent / "keys.json").write_text(SigningKeys(keys=(made_up,)).model_dump_json())
    with auditor_of(both, tmp_path / "receipts") as auditor:
        [made] = stored_history(auditor.receipts).audits
        bundle = write_bundle(tmp_path / "forged.zip", [made], auditor.receipts)

    assert check_bundle(true, keys=keys[0], keys_of_second=keys[1]).ok
    assert check_bundle(bundle).ok, "whoever compares no key believes it"
    assert made_up.public_key in " ".join(check_bundle(bundle).fingerprints)
    assert not check_bundle(bundle, keys=keys[0]).ok
    assert not check_bundle(bundle, keys=keys[0], keys_of_second=keys[1]).ok


def test_linked_decisions_are_sent_to_both(both: TwoHolders, tmp_path: Path) -> None:
    values = tmp_path / "decisions.csv"
    values.write_bytes(linked_values(register_csv()))
    with auditor_of(both, tmp_path / "receipts") as auditor:
        linked = auditor.link(values, NAME, name="decided", value="value")
        assert auditor.link(values, NAME, name="decided", value="value") == linked, "the same again changes nothing"
        result = auditor.audit(None, NAME, "origin", "2", decision="decided", favourable="granted")
        assert [[column.id for column in holder.columns(NAME)] for holder in auditor._holders] == [[linked.id]] * 2
        auditor._holders[0].delete_column(NAME, linked.id)
        auditor.delete_column(NAME, linked.id)  # as again after one of the two did not answer
        assert [holder.columns(NAME) for holder in auditor._holders] == [(), ()]
        with pytest.raises(NotFound):
            auditor.delete_column(NAME, linked.id)

    guess = {**linked_column(Path(values).read_bytes(), name="decided"), "values": linked.values}
    assert linked.id != column_id(DerivedColumn.model_validate(guess), auditor="ADR", dataset=NAME)
    assert 0 <= result.parity.difference.low <= result.parity.difference.high <= 1


def test_the_blinding_of_linked_values_is_kept_nowhere(both: TwoHolders, tmp_path: Path) -> None:
    """With it and a column's id one could confirm a guess of who got which decision."""
    values = tmp_path / "decisions.csv"
    values.write_bytes(linked_values(register_csv()))
    with auditor_of(both, tmp_path / "receipts") as auditor:
        linked = auditor.link(values, NAME, name="decided", value="value")
        result = auditor.audit(None, NAME, "origin", "0.2", decision="decided", favourable="granted")
        bundle = write_bundle(tmp_path / "bundle.zip", [result], auditor.receipts)
        auditor.delete_column(NAME, linked.id)

    blinding = (tmp_path / "receipts" / "columns" / ".blinding").read_bytes()
    assert len(blinding) == 64
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".blinding"]
    for holder in both:
        written += [path for path in holder.settings.home.parent.rglob("*") if path.is_file()]
    assert bundle in written
    assert [path for path in written if blinding in path.read_bytes()] == []
    with zipfile.ZipFile(bundle) as members:
        assert not any(blinding in members.read(name) for name in members.namelist())


def test_a_score_needs_an_account_of_one_name_at_both(both: TwoHolders, tmp_path: Path) -> None:
    key = both.second.open_auditor("another", epsilon="5", dataset=NAME)
    before = spent(both)
    holders = [(both.first.url, both.first.auditor_key), (both.second.url, key)]
    values = tmp_path / "decisions.csv"
    values.write_bytes(linked_values(register_csv()))
    with Auditor(holders=holders, receipts=tmp_path / "receipts") as auditor:
        with pytest.raises(QuestionRefused, match="calls your account 'ADR' and the second 'another'"):
            auditor.link(values, NAME, name="decided", value="value")
        assert auditor._second is not None
        assert auditor._second.holder.columns(NAME) == ()
        auditor.audit(OLD, NAME, "origin", "0.2")
    assert float(spent(both)[0]) - before[0] == pytest.approx(0.2), "rules alone need no such name"


def test_a_forecast_simulates_the_noise_of_both(both: TwoHolders, tmp_path: Path) -> None:
    with auditor_of(both, tmp_path / "receipts") as auditor:
        before = spent(both)
        planned = auditor.plan(OLD, NAME, "origin", "1", people=300)

    assert planned.quote.shares is not None
    assert "of two holders together, each discrete Laplace of scale 2:" in planned.to_html()
    assert "ε = 1 at each of the two holders" in planned.to_html()
    assert spent(both) == before


def test_where_one_does_not_answer_the_other_is_not_charged_twice(
    both: TwoHolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = spent(both)
    with auditor_of(both, tmp_path / "receipts") as auditor:
        second = auditor._second
        assert second is not None
        with monkeypatch.context() as away:

            def unavailable(*_: Any) -> Any:
                raise HolderUnavailable("The holder does not answer.")

            away.setattr(second.holder, "release", unavailable)
            with pytest.raises(HolderUnavailable, match="at no cost"):
                auditor.audit(OLD, NAME, "origin", "0.7")
        half_charged = spent(both)
        result = auditor.audit(OLD, NAME, "origin", "0.7")

    assert [now - then for now, then in zip(half_charged, before, strict=True)] == pytest.approx([0.7, 0])
    assert [now - then for now, then in zip(spent(both), before, strict=True)] == pytest.approx([0.7, 0.7])
    assert result.stored.second is not None


@pytest.mark.parametrize("strict", [(1,), (0, 1)])
def test_nothing_is_charged_before_each_holder_has_approved(
    set_up_holder: TestedHolder, tmp_path: Path, strict: tuple[int, ...]
) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both, auditor_of(both, tmp_path / "receipts") as auditor:
        for number in strict:
            answer = list(both)[number].admin("PUT", f"/populations/{NAME}/approval", json={"required": True})
            assert answer.status_code == 200, answer.text

        for number in reversed(strict):
            with pytest.raises(ApprovalAwaited, match=r"^The (first|second) holder: ") as awaited:
                auditor.audit(OLD, NAME, "origin", "1")
            assert spent(both) == [0, 0]
            assert list(both)[number].decide(awaited.value.approval.id).status_code == 200
        auditor.audit(OLD, NAME, "origin", "1")

        assert spent(both) == [1, 1]


def test_requests_at_both_holders_are_listed_and_withdrawn(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both, auditor_of(both, tmp_path / "receipts") as auditor:
        for holder in both:
            required = holder.admin("PUT", f"/populations/{NAME}/approval", json={"required": True})
            assert required.status_code == 200, required.text

        with pytest.raises(ApprovalAwaited, match=r"^The second holder: ") as awaited:
            auditor.audit(OLD, NAME, "origin", "1")
        identity = awaited.value.approval.id
        assert [approval.id for approval in auditor.approvals(NAME)] == [identity]
        assert both.second.decide(identity).status_code == 200
        with pytest.raises(ApprovalAwaited, match=r"^The first holder: "):
            auditor.audit(OLD, NAME, "origin", "1")

        states = {url: [one.state for one in found] for url, found in auditor.approvals_by_holder(NAME).items()}
        assert states == {both.first.url: ["waiting"], both.second.url: ["approved"]}
        assert auditor.approval(NAME, identity).state == "waiting"
        assert auditor.withdraw(NAME, identity).state == "withdrawn"
        assert [approval.state for approval in auditor.approvals(NAME)] == ["withdrawn", "withdrawn"]
        assert spent(both) == [0, 0]


def test_a_refusal_after_a_charge_says_who_charged(
    both: TwoHolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = spent(both)
    with auditor_of(both, tmp_path / "receipts") as auditor:
        first = auditor._exchange.holder

        def release_and_lower(*given: Any) -> Any:
            answer = HolderClient.release(first, *given)
            assert both.second.grant("0.0001", dataset=NAME).status_code == 200
            return answer

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(first, "release", release_and_lower)
            with pytest.raises(HolderRefused, match="But the first holder answered before and charged it"):
                auditor.audit(OLD, NAME, "origin", "0.3")
        assert both.second.grant("100", dataset=NAME).status_code == 200

        assert [now - then for now, then in zip(spent(both), before, strict=True)] == pytest.approx([0.3, 0])
        auditor.audit(OLD, NAME, "origin", "0.3")
    assert [now - then for now, then in zip(spent(both), before, strict=True)] == pytest.approx([0.3, 0.3])


def test_one_holder_alone_or_the_same_twice_is_refused_and_nothing_is_spent(both: TwoHolders, tmp_path: Path) -> None:
    before, first = spent(both), both.first
    asked = [
        (Auditor(first.url, first.auditor_key, receipts=tmp_path / "one"), NAME, "shared by two holders"),
        (auditor_of(TwoHolders(first, first), tmp_path / "twice"), NAME, "the half of party 1"),
        (auditor_of(both, tmp_path / "values"), "register", "not shared at both"),
    ]
    for auditor, dataset, why in asked:
        with auditor, pytest.raises(QuestionRefused, match=why):
            auditor.audit(OLD, dataset, "origin", "0.1")
    assert spent(both) == before


def test_two_holders_with_one_signing_key_are_refused(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    """As where one home was copied: whoever has its key may have both halves."""
    halves = halves_of(register_csv(), tmp_path / "split")
    with set_up_holder.copied(tmp_path / "first") as first, set_up_holder.copied(tmp_path / "second") as second:
        both = TwoHolders(first, second)
        both.offer(halves)
        with auditor_of(both, tmp_path / "receipts") as auditor, pytest.raises(QuestionRefused, match="the same key"):
            auditor.audit(OLD, NAME, "origin", "1")
        assert spent(both) == [0, 0]


def test_a_second_price_or_noise_that_differs_is_refused_and_nothing_is_spent(
    both: TwoHolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second holder finds two classes of cells where the first finds one: right by itself, and another price."""
    before = spent(both)
    with auditor_of(both, tmp_path / "receipts") as auditor:
        assert auditor._second is not None
        second = auditor._second.holder
        quoted = second.quote

        def differing(*asked: Any) -> Any:
            quote = quoted(*asked)
            (batch,) = quote.batches
            other = batch.model_copy(update={"composition": {**batch.composition, "classes": 2}})
            return quote.model_copy(update={"batches": (other,), "charge": quote.charge + quote.charge})

        monkeypatch.setattr(second, "quote", differing)
        with pytest.raises(HolderLied, match="do not quote the same"):
            auditor.audit(OLD, NAME, "origin", "0.7")
    assert spent(both) == before


def test_a_second_budget_that_does_not_suffice_costs_nothing_at_the_first(both: TwoHolders, tmp_path: Path) -> None:
    key = both.second.open_auditor("poor", epsilon="0.1", dataset=NAME)
    before = spent(both)
    holders = [(both.first.url, both.first.auditor_key), (both.second.url, key)]
    auditor = Auditor(holders=holders, receipts=tmp_path / "receipts")
    with auditor, pytest.raises(QuestionRefused, match="second holder has"):
        auditor.audit(OLD, NAME, "origin", "3")
    assert spent(both) == before


def test_the_first_holders_key_is_never_sent_to_the_second(
    both: TwoHolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUDITOR_API_KEY", both.first.auditor_key)
    with pytest.raises(SettingsMissing, match="not sent there"):
        Auditor(holders=[both.first.url, both.second.url], receipts=tmp_path)


def test_halves_of_different_splits_or_versions_are_refused(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both:
        again = halves_of(register_csv(), tmp_path / "again")
        answer = both.second.load(again[1].read_bytes(), NAME, "application/vnd.apache.parquet")
        assert answer.status_code == 200
        with auditor_of(both, tmp_path / "receipts") as auditor:
            with pytest.raises(QuestionRefused, match="different splits"):
                auditor.audit(OLD, NAME, "origin", "1")
            assert spent(both) == [0, 0]

            first = (tmp_path / "two" / "split" / "a.parquet", again[1])
            for half in (first[0], again[0]):
                assert both.first.load(half.read_bytes(), NAME, "application/vnd.apache.parquet").status_code == 200
            with pytest.raises(QuestionRefused, match="versions 3 and 2"):
                auditor.audit(OLD, NAME, "origin", "1")
            half = tmp_path / "two" / "split" / "b.parquet"
            assert both.second.load(half.read_bytes(), NAME, "application/vnd.apache.parquet").status_code == 200
            with pytest.raises(QuestionRefused, match="versions 3 and 3"):
                auditor.audit(OLD, NAME, "origin", "1")
            assert spent(both) == [0, 0]


def test_a_count_that_no_noise_explains_is_refused(
    both: TwoHolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second holder moves more people than there are from one group to another: the sum of the cell stays."""
    calls = []

    def lying(mechanism: Any, words: Any) -> list[str]:
        answer = noisy_words(mechanism, words)
        calls.append(answer)
        if len(calls) == 1:
            return answer
        moved = [(int(answer[0]) + 1000) % 2**64, (int(answer[1]) - 1000) % 2**64]
        return [*map(str, moved), *answer[2:]]

    monkeypatch.setattr(priced, "noisy_words", lying)
    with auditor_of(both, tmp_path / "receipts") as auditor, pytest.raises(HolderLied, match="below zero"):
        auditor.audit(OLD, NAME, "origin", "1.9")
    assert len(calls) == 2


def test_transport_of_the_test_is_real(both: TwoHolders) -> None:
    assert all(httpx.get(f"{holder.url}/readyz").status_code == 200 for holder in both)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("charged", [False, True])
@pytest.mark.slow
def test_a_holder_killed_around_its_charge_is_charged_once(
    set_up_holder: TestedHolder, tmp_path: Path, number: int, charged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two dies before its charge, or after it and before its answer arrives; then all is asked again."""
    with two_holders(set_up_holder, tmp_path / "two") as both:
        homes = [holder.settings for holder in both]
    with forked(homes[0]) as first, forked(homes[1]) as second:
        served = [first, second]
        auditor = _asking(served, both, tmp_path)
        exchange = [auditor._exchange, auditor._second][number]
        assert exchange is not None
        release = exchange.holder.release

        def dying(*asked: Any) -> Any:
            if charged:
                release(*asked)
            served[number].kill()
            raise HolderUnavailable("The holder does not answer.")

        monkeypatch.setattr(exchange.holder, "release", dying)
        with auditor, pytest.raises(HolderUnavailable):
            auditor.audit(OLD, NAME, "origin", "1")
    with forked(homes[0]) as first, forked(homes[1]) as second:
        with _asking([first, second], both, tmp_path) as auditor:
            result = auditor.audit(OLD, NAME, "origin", "1")
            assert auditor.verify().ok
        for served_now, holder in zip((first, second), both, strict=True):
            with holder.at(served_now.url) as again:
                assert again.spent(dataset=NAME) == "1"
                assert again.is_intact()
    assert result.stored.second is not None


def _asking(served: list[Served], both: TwoHolders, tmp_path: Path) -> Auditor:
    holders = [(running.url, holder.auditor_key) for running, holder in zip(served, both, strict=True)]
    return Auditor(holders=holders, receipts=tmp_path / "receipts")


def test_a_gross_lie_of_one_holder_is_refused_where_the_people_of_cells_are_known(
    both: TwoHolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts of a cell add up to its people but for the noise; ε of 5 leaves no doubt about a hundred."""
    honest, calls = noisy_words, []

    def lying(mechanism: Any, words: Any) -> list[str]:
        calls.append(len(words))
        drawn = honest(mechanism, words)
        return drawn if len(calls) % 2 else [str((int(word) + 100) % 2**64) for word in drawn]

    monkeypatch.setattr(priced, "noisy_words", lying)
    with auditor_of(both, tmp_path / "receipts") as auditor, pytest.raises(EstimationRefused):
        auditor.audit(OLD, NAME, "origin", "5", supports_from=women_and_men(tmp_path))
    assert len(calls) == 2
