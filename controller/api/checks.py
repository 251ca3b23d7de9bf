"""Checks on the wire: the `checks` of steps and strategies, and the record of what each has answered.

A check is a script that asks another system whether a release may go on. Invariant: decoding accepts everything the CRD
accepts. `CheckRun` is all that a new leader needs to go on with a check that has begun.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.analysis import OnFailure, ScriptRef, SecretKey

DEFAULT_CHECK_SECONDS = 3600
MAX_CHECKS = 16
"""Of a step, and of a strategy."""


class CheckPlace(StrEnum):
    """When a release asks a check."""

    START = "start"
    """Before the first pod of the release moves: the checks of the strategy."""
    BEFORE = "before"
    """Before the first pod of the step moves."""
    ROUTED = "routed"
    """When the step's traffic is routed, beside its gate."""
    END = "end"
    """Before the release is called finished, after the last step."""
    ROLLBACK = "rollback"
    """When the release goes back: the asked system is informed, and nothing waits for it."""


PLACES_OF_A_STEP = (CheckPlace.BEFORE, CheckPlace.ROUTED, CheckPlace.END, CheckPlace.ROLLBACK)


class Check(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A script that passes, holds or fails a release, and what it is given.

    Without `scriptRef` it is a script of the installation. The script never sees the values of `secrets`.
    """

    name: str = ""
    script: str = ""
    params: dict[str, msgspec.Raw] = {}
    secrets: dict[str, SecretKey] = {}
    script_ref: ScriptRef | None = None
    at: str = ""
    """`routed`, if it is left out; not for a check of a strategy."""
    timeout_seconds: int = DEFAULT_CHECK_SECONDS
    """How long it may hold the release before it counts as failed."""
    on_failure: OnFailure = OnFailure.PAUSE


class CheckVerdict(StrEnum):
    """How a check stands."""

    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    APPROVED = "Approved"
    """It failed, and a person approved to go on nevertheless."""


class CheckRun(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The state of one check; `step` is 0 for a check of the strategy."""

    step: int = 0
    at: str = ""
    name: str = ""
    id: str = ""
    """The name of the check for the asked system: the same in every turn, and for another leader."""
    verdict: str = CheckVerdict.RUNNING
    message: str = ""
    """Its last answer, in words."""
    turn: int = 0
    """The number of its answers so far, which also numbers the next one."""
    state: str = ""
    """What the script keeps for its next turn: JSON, at most 1 KB."""
    started_at: datetime | None = None
    asked_at: datetime | None = None
    """When it answered last."""
    again_at: datetime | None = None
    """Not asked again before this."""
    finished_at: datetime | None = None


class CheckRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A check that has ended, as the record of a release keeps it."""

    name: str = ""
    at: str = ""
    verdict: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
