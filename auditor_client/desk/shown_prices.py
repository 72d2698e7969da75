"""Whether what is asked is still what a price was shown for: the holder may load or declare anew in between."""

from typing import Final

from shared.contract.datasets import DatasetDescription

WORDS: Final = {"metadata", "organisation"}
"""What of a dataset's description is for people alone: no question depends on it."""


def changed_since(shown: DatasetDescription, now: DatasetDescription, *, pinned: bool) -> str:
    """What has changed since a price was shown, in one sentence; empty if nothing has.

    Args:
        shown: The dataset when the price was shown.
        now: As it is now.
        pinned: Whether the question names the version that it is about, so that another one does not matter.
    """
    if shown.version != now.version and now.version is not None and not pinned:
        return (
            f"Version {now.version} of the records was loaded after the price was shown, which was for version "
            f"{shown.version}. Below is the price for version {now.version}. Nothing was sent."
        )
    if _asked_about(shown) != _asked_about(now):
        return (
            "The declaration of the dataset has changed since the price was shown. Below is the current price. "
            "Nothing was sent."
        )
    return ""


def _asked_about(dataset: DatasetDescription) -> DatasetDescription:
    return dataset.model_copy(update={"version": None, **dict.fromkeys(WORDS)})
