"""The first file that somebody opens in an evidence bundle: what is in it, and how to check it."""

from collections.abc import Iterable
from typing import Final

_TEXT: Final = """\
Evidence of audits of decisions for fairness, written by PAFER. Nothing in this file is signed;
the command below checks what is.

WHAT TO OPEN FIRST
{pages}
WHAT IS IN THE OTHER FOLDERS
receipts/    The holder's answers, as it signed them: what was asked, the noisy counts, what was charged.
questions/   The model's rules, and what the auditor chose; trainings/ and models/ have the same of trainings.
figures/     Every figure of the reports, as JSON.
keys.json    The holder's public keys. Compare them with those that the holder publishes.
log/         The holder's public log, if it publishes one.

HOW TO CHECK IT
Install PAFER (pafer[auditor]), get the holder's keys from the holder, and run:
    auditor bundle check THIS-FILE.zip --keys KEYS.json
It checks every signature and computes every figure and report again.

WHAT A CHECK DOES NOT SHOW
It does not show that the holder's records are true, that the rules are those of the model in use, why groups differ,
or whether a difference is lawful.
"""


def readme(evidence: Iterable[tuple[str, str, str]]) -> str:
    """Return the text: it lists the report of each audit and training, but no finding.

    Args:
        evidence: The name, the subject and the dataset of each.
    """
    lines = (f"reports/{name}.html    {subject}, dataset {dataset}\n" for name, subject, dataset in evidence)
    return _TEXT.format(pages="".join(lines))
