"""A public study of wrongly recorded groups, with the request that it corrects (spec 11, section 2).

Like known totals it is never sent: it says how true groups follow from recorded ones. It is kept with the request, so
that a figure that is computed again rests on the same study. `study_table` reads it.
"""

from pydantic import BaseModel, ConfigDict

from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.confusion import ConfusionCounts


class GroupStudy(BaseModel):
    """The people of a study by true and by recorded group, `people[true][recorded]`, in the groups' order.

    `source` says where that is from.

    Raises:
        QuestionRefused: The table is not square, has a negative number, or a true group without anybody.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    people: tuple[tuple[int, ...], ...]
    source: str | None = None

    def model_post_init(self, _: object) -> None:
        """Check the table."""
        try:
            _ = self.counts
        except EstimationRefused as error:
            raise QuestionRefused(str(error)) from error

    @property
    def counts(self) -> ConfusionCounts:
        """The same for estimates."""
        return ConfusionCounts(self.people)
