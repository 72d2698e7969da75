"""Plans, trainings and watches as the client treats them, each as one value."""

from typing import Final

from auditor_client.exchange.client_kind import ClientKind, PricedRequest
from auditor_client.exchange.plan_verification import check_plan_quote, check_plan_release
from auditor_client.exchange.training_steps import check_training_quote
from auditor_client.exchange.training_verification import check_training_release
from auditor_client.exchange.watch_verification import check_watch_quote, check_watch_release
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import Release
from shared.kinds.trainings import Training, TrainingQuote, TrainingRelease
from shared.kinds.watches import Watch, WatchQuote, WatchRelease

PricedPlan = PricedRequest[Plan, Quote, Release]
PricedTraining = PricedRequest[Training, TrainingQuote, TrainingRelease]

PLANS: Final[ClientKind[Plan, Quote, Release]] = ClientKind(Quote, Release, check_plan_quote, check_plan_release)
TRAININGS: Final[ClientKind[Training, TrainingQuote, TrainingRelease]] = ClientKind(
    TrainingQuote, TrainingRelease, check_training_quote, check_training_release
)
WATCHES: Final[ClientKind[Watch, WatchQuote, WatchRelease]] = ClientKind(
    WatchQuote, WatchRelease, check_watch_quote, check_watch_release
)
