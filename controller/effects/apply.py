"""A table with the effect of every action.

Invariant: a problem that a person has to solve (a missing right, an object that the API server refuses) is returned as
a `Refusal` that names it; a conflict or an unreachable server raises, and the whole pass is repeated.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.api.workload_kinds import KindName
from controller.domain import decision
from controller.domain.decision import (
    Action,
    Done,
    LaterSteps,
    NotYet,
    Outcome,
    RecordRelease,
    Refusal,
    RestoreRoutes,
    RoutePlan,
)
from controller.domain.missing_rights import with_remedy
from controller.effects import (
    autoscalers,
    configs,
    freezing,
    kept_revisions,
    missing_pods,
    objects,
    rebuilding,
    rehearsing,
    reverts,
    rollouts,
    services,
    taking_over,
    workloads,
)
from controller.effects.writes import Writes
from controller.errors import WRITE_REFUSED, Forbidden, RefusedWrite, WebhookFailed
from controller.kube.resources import Resource, known_workload

RETRY_REFUSED = 30.0
"""Seconds after which a refused write is repeated: a right may be granted without any event that we see."""


def of_refused(refused: RefusedWrite) -> Refusal:
    """The API server's refusal in its own words, and the missing right if there is one."""
    message = with_remedy(refused.message)
    if isinstance(refused, WebhookFailed):
        message = f"{refused.request}: {message}"
    return Refusal(
        reason=type(refused).__name__,
        message=message,
        retry_after=RETRY_REFUSED,
        right=refused.right if isinstance(refused, Forbidden) else None,
    )


class Routes(Protocol):
    """Gateway objects."""

    async def ensure(
        self, plan: RoutePlan, at: datetime | None = None, settles_in: float = 0.0
    ) -> Outcome: ...

    async def rehearse(self, plan: RoutePlan, later: LaterSteps = ()) -> Outcome: ...

    async def restore(self, action: RestoreRoutes) -> Outcome: ...


class Histories(Protocol):
    """Records of releases."""

    async def record(self, action: RecordRelease) -> Outcome: ...


class Measures(Protocol):
    """Measurements of metric gates."""

    def ask(self, key: Key, asked: decision.Measure) -> None:
        """Measure, unless the measurement is running or answered already; a later observation has the answer."""
        ...


class WorkloadKinds(Protocol):
    """Kinds of workloads that were looked up."""

    def resource(self, kind: tuple[str, str]) -> Resource | None:
        """The served resource of the kind; None when it is not served."""
        ...


ActionOnKind = (
    decision.FreezeWorkload
    | decision.MoveWorkload
    | decision.ReleaseWorkload
    | decision.SetCurrentRevision
    | decision.RevertTemplate
    | decision.WriteTemplate
    | decision.StampTemplate
    | decision.TakeOverWorkload
    | decision.DeleteObject
    | decision.SetSize
    | decision.SetMetadata
)
"""Actions on an object of any kind: the kind has to be served."""


class Effects:
    """The effects of one pass over any object: on gateway objects, and on objects that their action names."""

    def __init__(self, writes: Writes, routes: Routes) -> None:
        self.writes = writes
        self.routes = routes

    def resource(self, kind: KindName) -> Resource | None:
        """How an object of this kind is addressed; None when the kind is not served."""
        return known_workload(*kind) or objects.BUILT_IN.get(kind)

    async def apply(self, action: Action) -> Outcome:
        """Carry out one action."""
        try:
            return await EFFECTS[type(action)](self, action)
        except WRITE_REFUSED as refused:
            return of_refused(refused)


class Pass(Effects):
    """The effects of one pass over one Rollout; keeps the Rollout's resource version up to date."""

    def __init__(
        self,
        rollout: Rollout,
        writes: Writes,
        routes: Routes,
        histories: Histories,
        kinds: WorkloadKinds,
        events: missing_pods.EventReads,
        measures: Measures,
    ) -> None:
        super().__init__(writes, routes)
        self.measures = measures
        self.kinds = kinds
        self.events = events
        self.rollout = rollout
        self.histories = histories
        self.version = rollout.metadata.resource_version
        self.gone = False

    async def prepare_rollout(self, action: decision.PrepareRollout) -> Done:
        """Put finalizer and plan hash on the Rollout."""
        self.version = await rollouts.prepare(self.writes, self.rollout, self.version, action)
        return Done(wrote=True)

    async def measure(self, action: decision.Measure) -> Done:
        """Ask for a measurement, without waiting for it."""
        self.measures.ask(self.rollout.metadata.key, action)
        return Done()

    def resource(self, kind: KindName) -> Resource | None:
        """How an object of this kind is addressed; None when the kind is not served."""
        return super().resource(kind) or self.kinds.resource(kind)

    async def remove_finalizer(self, _action: decision.RemoveFinalizer) -> Done:
        """Let the Rollout go."""
        await rollouts.remove_finalizer(self.writes, self.rollout, self.version)
        self.gone = True
        return Done(wrote=True)


A = TypeVar("A", bound=Action)
W = TypeVar("W", bound=ActionOnKind)
Effect = Callable[[Any, Any], Awaitable[Outcome]]
Row = tuple[type[object], Effect]


def _by(action: type[A], effect: Callable[[Pass, A], Awaitable[Outcome]]) -> Row:
    """A row of the table: the type checker compares the function with the action."""
    return action, effect


def _writes(action: type[A], effect: Callable[[Writes, A], Awaitable[Outcome]]) -> Row:
    return _by(action, lambda now, fact: effect(now.writes, fact))


def _to_object(action: type[W], effect: Callable[[Writes, Resource, W], Awaitable[Outcome]]) -> Row:
    async def apply(now: Effects, fact: W) -> Outcome:
        resource = now.resource(fact.kind)
        if resource is None:
            return _not_served(fact.kind)
        return await effect(now.writes, resource, fact)

    return _by(action, apply)


def _not_served(kind: KindName) -> NotYet:
    return NotYet(f"{kind.kind} ({kind.api_version}) is not served")


def _to_template(
    action: type[W], effect: Callable[[Writes, Resource, W, Rollout], Awaitable[Outcome]]
) -> Row:
    async def apply(now: Pass, fact: W) -> Outcome:
        resource = now.resource(fact.kind)
        if resource is None:
            return _not_served(fact.kind)
        return await effect(now.writes, resource, fact, now.rollout)

    return _by(action, apply)


EFFECTS: dict[type[object], Effect] = dict(
    [
        _by(decision.PrepareRollout, Pass.prepare_rollout),
        _by(decision.RemoveFinalizer, Pass.remove_finalizer),
        _to_object(decision.FreezeWorkload, freezing.freeze),
        _to_object(decision.MoveWorkload, workloads.move),
        _to_object(decision.ReleaseWorkload, workloads.release),
        _to_object(decision.SetCurrentRevision, workloads.set_current_revision),
        _to_template(decision.RevertTemplate, reverts.revert),
        _to_object(decision.WriteTemplate, reverts.write_template),
        _to_template(decision.StampTemplate, reverts.stamp),
        _writes(decision.KeepRelease, kept_revisions.keep),
        _writes(decision.EnsureCanaryDeployment, workloads.ensure_canary),
        _to_object(decision.DeleteObject, objects.delete),
        _to_object(decision.SetSize, objects.size),
        _to_object(decision.SetMetadata, objects.mark),
        _by(
            decision.RebuildReplicaSet,
            lambda now, fact: rebuilding.rebuild(now.writes, fact, now.rollout),
        ),
        _writes(decision.FreezeReplicaSet, workloads.freeze_replica_set),
        _writes(decision.PinService, services.pin),
        _writes(decision.UnpinService, services.unpin),
        _writes(decision.EnsureCanaryService, services.ensure_canary),
        _by(
            decision.EnsureRoutes,
            lambda now, fact: now.routes.ensure(fact.plan, fact.at, fact.settles_in),
        ),
        _writes(decision.RehearseObjects, rehearsing.rehearse),
        _by(decision.RehearseRoutes, lambda now, fact: now.routes.rehearse(fact.plan, fact.later)),
        _by(decision.RestoreRoutes, lambda now, fact: now.routes.restore(fact)),
        _by(
            decision.FindCauseOfMissingPods,
            lambda now, fact: missing_pods.cause_of_missing_pods(now.events, fact),
        ),
        _writes(decision.PauseAutoscaler, autoscalers.pause),
        _writes(decision.FreeAutoscaler, autoscalers.free),
        _writes(decision.KeepConfig, configs.keep),
        _writes(decision.RestoreConfig, configs.restore),
        _by(decision.Measure, Pass.measure),
        _to_object(decision.TakeOverWorkload, taking_over.workload),
        _writes(decision.DropBatchRelease, taking_over.drop_batch_release),
        _by(decision.RecordRelease, lambda now, fact: now.histories.record(fact)),
    ]
)
"""The effect of every action; those on routes and metadata need `Effects` only, the others a `Pass`."""
