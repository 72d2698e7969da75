"""A trained model, as a result that shows itself, decides for another ratio, and writes the model (7-training §1)."""

import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor_client.asking.training import require_auditable, training_of
from auditor_client.audits.asking import TrainingAsking
from auditor_client.audits.planned_training import PlannedTraining
from auditor_client.audits.result import AuditResult, program_versions
from auditor_client.dataset_words import DatasetWords
from auditor_client.errors import A_DATA_FRAME, needs
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import TRAININGS
from auditor_client.findings.notes import Notes
from auditor_client.findings.reading import Reading
from auditor_client.findings.rehearsals import rehearsal_member
from auditor_client.findings.training import Trained, require_ratio, trained
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.models.readers.own.own_json import OwnModel, load_file, rules_document, score_document
from auditor_client.report.terminal import training_lines
from auditor_client.report.training_data import TrainingData, training_data, training_description
from auditor_client.report.training_document import training_document
from auditor_client.report.view import Shown, View
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Rule
from shared.kinds.trainings import TrainedScore, TrainingRelease
from shared.privacy.amounts import format_nano
from shared.wire.canonical import sha256_name

if TYPE_CHECKING:
    import pandas as pd

    from auditor_client.estimation.trained_leaves import Search


@dataclass(frozen=True, repr=False)
class TrainingResult(Shown):
    """A model that a holder learned, decided for a wanted ratio, and perhaps audited.

    Attributes:
        trained: What was learned, and what is known of it by the counts that were paid for.
        audit: An audit of the model on another dataset, or another version, if one was asked for.
    """

    trained: Trained
    audit: AuditResult | None = None

    @property
    def release(self) -> TrainingRelease:
        """The holder's verified answer."""
        return self.trained.release

    @property
    def receipt(self) -> Path:
        """The file that keeps it."""
        return self.trained.kept.receipt

    @property
    def note(self) -> TrainingNote:
        """Which ratio it was decided for, and how, to compute everything again."""
        return TrainingNote.of(self.trained, sha256_name(self.model_text.encode()))

    @property
    def met(self) -> bool:
        """Whether the model is shown to meet the ratio, on the records that it was trained on."""
        return self.trained.met

    @property
    def usable(self) -> bool:
        """Whether it is a model to go on with; see `Trained.usable`."""
        return self.trained.usable

    def at(self, ratio: float, *, reading: Reading | None = None, search: "Search | None" = None) -> "TrainingResult":
        """The same answer decided for another ratio; spends nothing. An audit is of the model before, so it is left.

        Args:
            ratio: The wanted one, within (0, 1].
            reading: Its level, and which groups are judged; by default as before.
            search: What finds the leaves' decisions; by default `estimation.fair_choice.most_accurate`.

        Raises:
            QuestionRefused: The ratio is none, or fewer than two groups are large enough.
        """
        one = self.trained
        return TrainingResult(
            trained(
                one.dataset, one.kept, ratio=ratio, reading=reading or one.reading, reused=one.reused, search=search
            )
        )

    @cached_property
    def view(self) -> View[TrainingData]:
        """What was learned, what it cost, and how fair and how accurate it is."""
        data = partial(training_data, self.trained, self.audit)
        document = partial(training_document, self.trained, self.audit, program_versions())
        return View(
            (self.trained.dataset,), "A trained model", "48rem", "training.html.j2", data, training_lines, document
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row for each leaf, as a pandas DataFrame, with the estimated people of each group if they were counted.

        None of a score.
        """
        with needs(A_DATA_FRAME):
            import pandas as pd  # noqa: PLC0415 - takes a second to import

        one = self.trained
        return pd.DataFrame(
            [
                {
                    "rule": _rule_text(one.words, leaf.rules),
                    "learned": leaf.learned,
                    "favourable": leaf.favourable,
                    **{
                        ", ".join(map(str, group)): people.value
                        for group, people in zip(one.groups, leaf.people, strict=True)
                    },
                    "cost": leaf.cost,
                }
                for leaf in (one.tree.leaves if one.tree else ())
            ]
            or [
                {"rule": _rule_text(one.words, leaf.rules), "learned": leaf.favourable, "favourable": leaf.favourable}
                for leaf in one.learned
            ]
        )

    def to_model(self) -> dict[str, Any]:
        """The model in our own format, which `Auditor.audit` reads; it says what it was trained from."""
        one, model = self.trained, self.release.model
        made_of = {
            "trained": {
                "release": one.release.id,
                **rehearsal_member(one.release),
                "dataset": one.release.dataset,
                "version": one.release.version,
                "algorithm": one.release.training.algorithm.name,
                "epsilon": format_nano(one.release.training.epsilon),
                **(
                    {}
                    if one.tree is None
                    else {
                        "ratio": one.wanted,
                        "met": one.met,
                        "estimated": one.tree.estimated,
                        "level": one.reading.level,
                    }
                ),
            }
        }
        if isinstance(model, TrainedScore):
            return score_document(model.document, model.at_least, training_description(one), made_of)
        return rules_document(one.rules, training_description(one), made_of, scores=model.scores)

    @property
    def model(self) -> OwnModel:
        """The same as a model in memory, to audit."""
        return load_file(self.model_text.encode(), "the trained model")

    def write_model(self, path: Path | str) -> Path:
        """Write the model into a file and return its path.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        target.write_bytes(self.model_text.encode())
        return target

    @cached_property
    def model_text(self) -> str:
        """The model's file."""
        return json.dumps(self.to_model(), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Trainer:
    """Has one holder train models, and keeps its answers with the receipts of audits."""

    exchange: Exchange

    def planned(
        self,
        asking: TrainingAsking,
        dataset: DatasetDescription,
        *,
        ratio: float,
        audited: DatasetDescription | None = None,
    ) -> PlannedTraining:
        """What a training costs; spends nothing.

        Args:
            asking: What is to be learned, and how the answer is read.
            dataset: Of whom.
            ratio: The wanted one.
            audited: Where the model will be audited; None if nowhere.

        Raises:
            QuestionRefused: The request does not fit the dataset, or the ratio is none.
            HolderLied: The price cannot be trusted.
        """
        require_ratio(ratio)
        training = training_of(asking.request, dataset)
        if audited is not None:
            require_auditable(training, audited)
        budget = self.exchange.holder.budget(dataset.name)
        priced = self.exchange.priced(TRAININGS, training, RequestContext.of(dataset, budget.auditor))
        return PlannedTraining(priced, budget, self.exchange.receipts.path(priced.identity))

    def trained(self, asking: TrainingAsking, planned: PlannedTraining, *, ratio: float) -> TrainingResult:
        """Ask for a training unless its answer is kept, and decide its leaves for the wanted ratio.

        Raises:
            QuestionRefused: Fewer than two groups are large enough.
            HolderLied: The answer cannot be trusted.
        """
        exchange, reused = self.exchange, planned.kept
        exchange.on_step("Reading the kept answer: nothing is spent" if reused else planned.words)
        answer = exchange.kept(planned.priced) if reused else exchange.charged(planned.priced)
        exchange.on_step("Deciding the leaves")
        found = trained(planned.dataset, answer, ratio=ratio, reading=asking.reading, reused=reused)
        result = TrainingResult(found)
        Notes(exchange.receipts.directory, TrainingNote).keep(result.note)
        return result


def _rule_text(words: DatasetWords, rules: tuple[Rule, ...]) -> str:
    return " or ".join(" and ".join(map(str, words.rule(rule))) or "everybody" for rule in rules)
