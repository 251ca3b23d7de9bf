"""One action, one effect: where a decided fact is handed to the part that brings it about.

Invariant: what a person has to change (a missing right, an object the API server refuses) comes back as
a `Refusal` that names it; a conflict, or a server that is away, is raised and brings the whole pass back.
"""

from datetime import datetime
from typing import Protocol, assert_never

from controller.api.rollout import Rollout
from controller.domain.decision import (
    Action,
    AskWhyNotMade,
    DeleteCanaryDeployment,
    DeleteCanaryService,
    DeletePod,
    DeleteReplicaSet,
    Done,
    DropConfig,
    EnsureCanaryDeployment,
    EnsureCanaryService,
    EnsureRoutes,
    FreeAutoscaler,
    HoldAutoscaler,
    HoldReplicaSet,
    HoldWorkload,
    KeepConfig,
    LabelPod,
    LabelWorkload,
    MarkPod,
    MoveSet,
    NotYet,
    Outcome,
    PaceDeployment,
    PinService,
    PrepareRollout,
    RecordRelease,
    Refusal,
    RehearseRoutes,
    ReleaseDeployment,
    ReleaseSet,
    RemoveFinalizer,
    RestoreConfig,
    RestoreRoutes,
    RevertTemplate,
    RoutePlan,
    ScaleCanaryDeployment,
    ScaleReplicaSet,
    SetCurrentRevision,
    SetFinalizers,
    StampTemplate,
    UnpinService,
)
from controller.domain.rights import with_remedy
from controller.effects import (
    configs,
    holding,
    hpa,
    pods,
    podsets,
    reverts,
    rollouts,
    services,
    trafficroutings,
    workloads,
)
from controller.effects.missing_pods import EventReads, why_not_made
from controller.effects.writes import Writes
from controller.errors import Forbidden, Invalid
from controller.kube.resources import Resource, known_workload

RETRY_REFUSED = 30.0
"""Seconds after which a refused write is tried again: a right may be granted without any event we see."""


def of_refused(refused: Forbidden | Invalid) -> Refusal:
    """What the API server said no to, in its words; and which right to grant, where one is missing."""
    return Refusal(
        reason=type(refused).__name__,
        message=with_remedy(refused.message),
        retry_after=RETRY_REFUSED,
        right=refused.right if isinstance(refused, Forbidden) else None,
    )


class Routes(Protocol):
    """Gateway objects."""

    async def ensure(self, plan: RoutePlan, at: datetime | None = None) -> Outcome: ...

    async def rehearse(self, plan: RoutePlan) -> Outcome: ...

    async def restore(self, action: RestoreRoutes) -> Outcome: ...


class Histories(Protocol):
    """Records of releases."""

    async def record(self, action: RecordRelease) -> Outcome: ...


class WorkloadKinds(Protocol):
    """Kinds of workloads that were looked up."""

    def resource(self, kind: tuple[str, str]) -> Resource | None:
        """How the kind is addressed; None when it is not served."""
        ...


class Pass:
    """The effects of one pass over one Rollout; knows the Rollout's resource version as it moves."""

    def __init__(
        self,
        rollout: Rollout,
        writes: Writes,
        routes: Routes,
        histories: Histories,
        kinds: WorkloadKinds,
        events: EventReads,
    ) -> None:
        self._kinds = kinds
        self._events = events
        self._rollout = rollout
        self._writes = writes
        self._routes = routes
        self._histories = histories
        self.version = rollout.metadata.resource_version
        self.gone = False

    async def apply(self, action: Action) -> Outcome:
        """Bring one fact about."""
        try:
            return await self._apply(action)
        except (Forbidden, Invalid) as refused:
            return of_refused(refused)

    async def _apply(self, action: Action) -> Outcome:
        match action:
            case PrepareRollout() | RemoveFinalizer():
                return await self._apply_to_rollout(action)
            case EnsureRoutes() | RehearseRoutes() | RestoreRoutes():
                return await self._apply_to_routes(action)
            case PinService() | UnpinService() | EnsureCanaryService() | DeleteCanaryService():
                return await self._apply_to_service(action)
            case AskWhyNotMade():
                return await why_not_made(self._events, action)
            case SetFinalizers() | RecordRelease() | LabelPod() | MarkPod():
                return await self._apply_to_others(action)
            case DeletePod():
                return await podsets.delete_pod(self._writes, action)
            case HoldAutoscaler() | FreeAutoscaler():
                return await hpa.write(self._writes, action)
            case KeepConfig() | RestoreConfig() | DropConfig():
                return await configs.bring_about(self._writes, action)
            case (
                LabelWorkload()
                | HoldWorkload()
                | MoveSet()
                | ReleaseSet()
                | SetCurrentRevision()
                | RevertTemplate()
                | StampTemplate()
            ):
                return await self._apply_to_any_workload(action)
            case _:
                return await self._apply_to_workload(action)

    async def _apply_to_routes(
        self, action: EnsureRoutes | RehearseRoutes | RestoreRoutes
    ) -> Outcome:
        match action:
            case EnsureRoutes(plan=plan, at=at):
                return await self._routes.ensure(plan, at)
            case RehearseRoutes(plan=plan):
                return await self._routes.rehearse(plan)
            case RestoreRoutes():
                return await self._routes.restore(action)
            case _:
                assert_never(action)

    async def _apply_to_others(
        self, action: SetFinalizers | RecordRelease | LabelPod | MarkPod
    ) -> Outcome:
        match action:
            case SetFinalizers():
                return await trafficroutings.set_finalizers(self._writes, action)
            case RecordRelease():
                return await self._histories.record(action)
            case LabelPod():
                return await pods.label_pod(self._writes, action)
            case MarkPod():
                return await pods.mark_pod(self._writes, action)
            case _:
                assert_never(action)

    async def _apply_to_rollout(self, action: PrepareRollout | RemoveFinalizer) -> Outcome:
        match action:
            case PrepareRollout():
                self.version = await rollouts.prepare(
                    self._writes, self._rollout, self.version, action
                )
            case RemoveFinalizer():
                await rollouts.remove_finalizer(self._writes, self._rollout, self.version)
                self.gone = True
            case _:
                assert_never(action)
        return Done(wrote=True)

    async def _apply_to_service(
        self, action: PinService | UnpinService | EnsureCanaryService | DeleteCanaryService
    ) -> Outcome:
        match action:
            case PinService():
                return await services.pin(self._writes, action)
            case UnpinService():
                return await services.unpin(self._writes, action)
            case EnsureCanaryService():
                return await services.ensure_canary(self._writes, action)
            case DeleteCanaryService():
                return await services.delete_canary(self._writes, action)
            case _:
                assert_never(action)

    async def _apply_to_any_workload(
        self,
        action: LabelWorkload
        | HoldWorkload
        | MoveSet
        | ReleaseSet
        | SetCurrentRevision
        | RevertTemplate
        | StampTemplate,
    ) -> Outcome:
        resource = known_workload(*action.kind) or self._kinds.resource(action.kind)
        if resource is None:
            return NotYet(f"{action.kind.kind} ({action.kind.api_version}) is not served")
        match action:
            case LabelWorkload():
                return await workloads.label_workload(self._writes, resource, action)
            case HoldWorkload():
                return await holding.hold(self._writes, resource, action)
            case RevertTemplate():
                return await reverts.revert(self._writes, resource, action, self._rollout)
            case StampTemplate():
                return await reverts.stamp(self._writes, resource, action, self._rollout)
            case MoveSet():
                return await podsets.move(self._writes, resource, action)
            case SetCurrentRevision():
                return await podsets.set_current_revision(self._writes, resource, action)
            case ReleaseSet():
                return await podsets.release(self._writes, resource, action)
            case _:
                assert_never(action)

    async def _apply_to_workload(
        self,
        action: PaceDeployment
        | ReleaseDeployment
        | EnsureCanaryDeployment
        | ScaleCanaryDeployment
        | DeleteCanaryDeployment
        | ScaleReplicaSet
        | DeleteReplicaSet
        | HoldReplicaSet,
    ) -> Outcome:
        match action:
            case PaceDeployment():
                return await workloads.pace(self._writes, action)
            case ReleaseDeployment():
                return await workloads.release(self._writes, action)
            case EnsureCanaryDeployment():
                return await workloads.ensure_canary(self._writes, action)
            case ScaleCanaryDeployment():
                return await workloads.scale_canary(self._writes, action)
            case DeleteCanaryDeployment():
                return await workloads.delete_canary(self._writes, action)
            case ScaleReplicaSet():
                return await workloads.scale_replica_set(self._writes, action)
            case DeleteReplicaSet():
                return await workloads.delete_replica_set(self._writes, action)
            case HoldReplicaSet():
                return await workloads.hold_replica_set(self._writes, action)
            case _:
                assert_never(action)
