"""The view of a Rollout, as values: the tree, the table and `-o json` are three ways to print the same.

Invariant: complete and frozen; instants, not ages, so that a view does not change while nothing happens. Field names
are the JSON people's scripts read.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.names import DEFAULT_NAMESPACE


class View(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all views."""


class Role(StrEnum):
    """The role of a revision in the release."""

    STABLE = "stable"
    CANARY = "canary"
    OTHER = "other"
    """Neither: an abandoned revision whose pods are being removed."""


class PodView(View, frozen=True):
    """One pod. `because` says why it is not ready."""

    name: str
    ready: bool
    batch: str = ""
    since: datetime | None = None
    because: str = ""


class RevisionView(View, frozen=True):
    """All pods of one revision. `wanted` is the number that the present step asks for, None if it asks for none."""

    role: Role
    revision: str
    pods: tuple[PodView, ...] = ()
    ready: int = 0
    wanted: int | None = None
    images: str = ""


class ServiceView(View, frozen=True):
    """A Service of a release. `pinned_to` is a revision, empty when the Service has its owner's selector.

    `endpoints` counts the ready ones; None if they cannot be read.
    """

    name: str
    role: Role
    exists: bool = True
    pinned_to: str = ""
    endpoints: int | None = 0


class RouteView(View, frozen=True):
    """A gateway object. `follows` is the step whose plan it follows; None: its owner's content, or not known.

    `state` is a sentence; `shares` are lists of weights; `diff` is a unified diff against the stored original, `drift`
    one against the release's content, if somebody changed that.
    """

    kind: str
    name: str
    state: str
    follows: int | None = None
    shares: tuple[str, ...] = ()
    original_shares: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    problem: bool = False


class SharedRoutesView(View, frozen=True):
    """The TrafficRouting whose routes the Rollout shares. `problem` is empty if nobody has to act."""

    name: str
    phase: str = ""
    routed: bool = False
    """Its routes lead to the new pods of this Rollout."""
    reason: str = ""
    problem: str = ""


class StepView(View, frozen=True):
    """One step of the plan in words; `mark` is `done`, `now` or `to come`."""

    index: int
    pods: str
    traffic: str
    pause: str
    mark: str = "to come"


class TimerView(View, frozen=True):
    """Something that ends by the clock."""

    what: str
    until: datetime


class GateMetricView(View, frozen=True):
    """One metric of a gate: the last measurement, its condition, and the time of the next measurement."""

    name: str
    verdict: str
    reason: str = ""
    value: str = ""
    wanted: str = ""
    """The bounds in words; empty if they are a template's."""
    next_at: datetime | None = None
    dry_run: bool = False


class GateView(View, frozen=True):
    """A metric gate of the release; `step` is 0 for the background gate."""

    step: int
    verdict: str
    message: str = ""
    since: datetime | None = None
    metrics: tuple[GateMetricView, ...] = ()


class CheckView(View, frozen=True):
    """A check of the release; `step` is 0 for a check of the strategy."""

    name: str
    step: int
    at: str
    verdict: str
    message: str = ""
    since: datetime | None = None
    again_at: datetime | None = None


class ConditionView(View, frozen=True):
    """A condition of the Rollout."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None


class ApprovalView(View, frozen=True):
    """One approval: the step and the user."""

    step: int
    by: str = ""
    at: datetime | None = None
    message: str = ""


class EventView(View, frozen=True):
    """An Event about the Rollout."""

    type: str
    reason: str
    message: str
    at: datetime | None = None
    count: int = 1


class Remedy(View, frozen=True):
    """A command to type next, and its purpose; values that the person has to supply are in capitals."""

    command: str
    purpose: str


class Summary(View, frozen=True):
    """One line of the table."""

    namespace: str
    name: str
    phase: str
    step: int
    steps: int
    state: str
    waits_for: str
    workload: str
    workload_group: str = ""
    since: datetime | None = None
    created: datetime | None = None
    stable_revision: str = ""
    canary_revision: str = ""
    canary_replicas: int = 0
    canary_ready_replicas: int = 0
    message: str = ""
    paused: bool = False
    stalled: bool = False
    may_go_on: bool = False
    """Stalled, and an approval helps nevertheless."""


class RolloutView(View, frozen=True):
    """Everything shown of one Rollout."""

    summary: Summary
    replicas: int | None = None
    revisions: tuple[RevisionView, ...] = ()
    services: tuple[ServiceView, ...] = ()
    routes: tuple[RouteView, ...] = ()
    shared_routes: SharedRoutesView | None = None
    next: str = ""
    steps: tuple[StepView, ...] = ()
    timers: tuple[TimerView, ...] = ()
    gates: tuple[GateView, ...] = ()
    checks: tuple[CheckView, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    events: tuple[EventView, ...] = ()
    gaps: tuple[str, ...] = ()
    """Objects that could not be read, and why."""
    unattended: str = ""
    """Why nothing moves although something could: no controller is at work, or whether one is cannot be known."""
    lease_readable: bool = True
    """Whether the Lease of the controller could be read."""
    controller_namespace: str = DEFAULT_NAMESPACE
    """Where the controller runs."""
    overrun: str = ""
    """The step asks for a part of the requests, and every pod is new; empty otherwise."""
    given_up: str = ""
    """The version that was rolled back without a person, in a sentence; empty if none was, or another came since."""
    workload_fixed: bool = False
    """Admission refuses another workload, or another style, at this moment."""
    routes_fixed: bool = False
    """Admission refuses a change of `trafficRoutings` at this moment."""
    no_way_back: str = ""
    """Why `undo` would have nothing to write; empty if it has something, or if that is not known."""
