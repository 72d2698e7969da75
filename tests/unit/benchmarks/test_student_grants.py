"""The case of the student grants: what its draws report, and what its picture shows."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from auditor_client.estimation.estimates import Estimate
from benchmarks import student_grants_draws
from benchmarks.student_grants_draws import faults_of_draws
from benchmarks.student_grants_picture import Bar, picture
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano
from testing.many_releases import released

GROUPS = (("dutch",), ("european",), ("outside Europe",))
SELECTED = np.array([[1050, 120, 2010]])
LEFT_ALONE = np.array([[177150, 15510, 52810]])
"""As Statistics Netherlands published them, rounded to ten."""


@pytest.mark.statistical
def test_intervals_of_many_draws_hold_the_published_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    """Reported by mistake with a chance below 10⁻⁶ at each ε, if intervals hold in 93 % of the draws or more."""
    assert list(faults_of_draws(GROUPS, LEFT_ALONE, SELECTED, "0.05", runs=30)) == []
    assert "published 6.22" in capsys.readouterr().out


@pytest.mark.statistical
def test_more_noise_than_the_client_knows_of_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: twenty times the noise, in which hardly any interval holds."""
    noisier = LaplaceMechanism.calibrated(epsilon_nano=parse_nano("0.0025"), sensitivity=1)
    monkeypatch.setattr(student_grants_draws, "released", lambda _, counts, runs: released(noisier, counts, runs))

    assert len(list(faults_of_draws(GROUPS, LEFT_ALONE, SELECTED, "0.05", runs=30))) == 2


def test_the_picture_colours_a_bar_only_where_the_whole_interval_is_above_the_limit() -> None:
    def bar(name: str, low: float, high: float) -> Bar:
        return Bar(name, Estimate((low + high) / 2, low, high, 0.95, "posterior"), 2.0)

    root = ET.fromstring(picture([bar("<above>", 2.4, 2.6), bar("across", 1.2, 1.4)], epsilon="0.05"))  # noqa: S314

    shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    classes = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert {"<above>", "across", "2.50 (2.40 to 2.60)", "1.30 (1.20 to 1.40)"} <= set(shown)
    assert classes == ["fails", "open"]
