"""Whether gateways took what a release wrote, by their own words in the status of their objects.

A verdict is about one object in one version, so a later status is asked about again. These are only values.
"""

from controller.domain.decision.routes import RoutePlan
from controller.domain.decision.value import Value


class NotAsked(Value, frozen=True, tag=True):
    """The script has not been asked about the object as it is now."""


class Taken(Value, frozen=True, tag=True):
    """The gateway serves what the object says."""


class NotTakenYet(Value, frozen=True, tag=True):
    """The gateway has not said anything about the object as it is now; `why` may be empty."""

    why: str = ""


class RefusedByGateway(Value, frozen=True, tag=True):
    """The gateway does not serve what the object says, in its own words."""

    words: str


Verdict = Taken | NotTakenYet | RefusedByGateway
Asked = Verdict | NotAsked


class ConfirmRoutes(Value, frozen=True, tag=True):
    """Every object of the plan whose gateway reports on it has a verdict about its present version; nothing is written.

    A later observation has the verdicts.
    """

    plan: RoutePlan
