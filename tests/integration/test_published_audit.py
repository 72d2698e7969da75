"""The published trees audited at ε = 0.5 through the running service: the truth is where the report says.

Sample: one release for each analysis, over Adult, through client, service, ledger and noise. Two and a half
widths beyond a 95 % interval is at least eleven standard deviations from its middle, or sixteen scales of the
noise where one count makes all of it: a false alarm has a chance of e^(-16), about 10⁻⁷, at most.
The negative control audits another tree and must miss.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor_client import Auditor
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.models.tree import Tree
from benchmarks.published_trees import PUBLISHED_TREES
from pafer_demo.open_data import adult
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import leaf, split

ADULT = next(published for published in PUBLISHED_TREES if published.dataset == "adult")

pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, open_data: Path) -> Iterator[TestedHolder]:
    home = tmp_path_factory.mktemp("holder")
    data = adult(open_data)
    data.write_csv(home / "adult.csv")
    with running_holder(home) as tested:
        declaration = data.declaration.model_dump(mode="json", exclude_none=True)
        tested.offer("adult", (home / "adult.csv").read_bytes(), epsilon="5", **declaration)
        yield tested


def holds(estimate: Estimate, truth: float) -> bool:
    """Whether a truth is within an interval, or two and a half widths of it."""
    room = 2.5 * estimate.width
    return estimate.low - room <= truth <= estimate.high + room


@pytest.mark.parametrize("sensitive", ADULT.parity, ids="-".join)
def test_the_published_ratio_is_where_the_report_says(auditor: Auditor, sensitive: tuple[str, ...]) -> None:
    parity = auditor.audit(ADULT.tree, "adult", sensitive, "0.5").parity

    assert holds(parity.ratio, ADULT.parity[sensitive])
    assert parity.ratio.width < 0.1
    assert parity.verdict is Verdict.FAILS


def test_another_tree_is_elsewhere(auditor: Auditor) -> None:
    tree = Tree(split("capital-gain", 5000, leaf("poor", False), leaf("rich", True)))

    parity = auditor.audit(tree, "adult", ("sex",), "0.5").parity

    assert not holds(parity.ratio, ADULT.parity["sex",])
