"""Real passes over the Rollout of a simulated world: the status goes to a stand-in of the API server and comes back."""

from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from random import Random

import msgspec
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Rollout, RolloutStatus
from controller.domain.decision import (
    Done,
    LaterSteps,
    Measure,
    Note,
    Outcome,
    RecordRelease,
    RestoreRoutes,
    RoutePlan,
)
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide
from controller.effects.apply import Pass
from controller.errors import ApiError, Right
from controller.kube.ledger import WriteLedger
from controller.kube.resources import DEPLOYMENTS, ROLLOUTS, SERVICES, Resource
from controller.reconcilers.reporting import Reporting
from controller.reconcilers.rollout import Decide, Effects, RolloutReconciler
from controller.runtime.worker import Result
from tests.component.effects.api_double import ApiDouble, Object
from tests.unit.builders import KEY
from tests.unit.worlds import World


class StatusRefusing(ApiDouble):
    """Refuses each write of a status with `refusal`, if there is one."""

    refusal: ApiError | None = None

    def on_json_patch(self, subresource: str) -> None:
        if subresource == "status" and self.refusal is not None:
            raise self.refusal


class Passes:
    """One reconciler and its reports; `answer` is the result of every write of a gateway object."""

    def __init__(self, world: World, *, decide: Decide = decide, effects: Effects = Pass) -> None:
        self.world = world
        self.api = StatusRefusing()
        self.ledger = WriteLedger()
        self.answer: Outcome = Done(wrote=True)
        self.notes: list[tuple[str, str]] = []
        self.drifts: list[str] = []
        self.ended: list[tuple[str, float]] = []
        self.entered: list[str] = []
        self.left: list[tuple[str, str]] = []
        self.approvals = 0
        self.awaited: list[tuple[Key, Right]] = []
        self.lists: list[str] = []
        self.measures: list[Measure] = []
        self.events = b'{"items": []}'
        self.hides_slices = False
        """The canary Services have no endpoints yet."""
        for resource, objects in (
            (DEPLOYMENTS, world.cluster.deployments),
            (SERVICES, world.cluster.services),
            (ROLLOUTS, world.cluster.rollouts),
        ):
            for found in objects:
                body: Object = msgspec.json.decode(msgspec.json.encode(found))
                version = body["metadata"]["resourceVersion"]
                self.api.put(resource, body)["metadata"]["resourceVersion"] = version
        self.reconciler = RolloutReconciler(
            worlds=self,
            kube=self.api,
            routes_for=lambda key: self,
            histories=self,
            kinds=self,
            events=self,
            ledger=self.ledger,
            clock=self,
            reporting=Reporting(lambda rollout, note: self._record_event(note), self),
            random=Random(1),
            rights=self,
            measures=self,
            checks=self,  # type: ignore[arg-type]  # no Rollout here has checks
            decide=decide,
            effects=effects,
        )

    def wait(self, key: Key, right: Right) -> None:
        """Note the key and the right that a refused write lacks."""
        self.awaited.append((key, right))

    def ask(self, key: Key, asked: Measure) -> None:
        """Note the measurement that a gate asks for."""
        self.measures.append(asked)

    def forget(self, key: Key) -> None:
        """Nothing of it is refused any more."""

    @property
    def status(self) -> RolloutStatus:
        """The status of the Rollout in the API server."""
        return msgspec.convert(self.api.one(ROLLOUTS, "web")["status"], RolloutStatus)

    @property
    def status_writes(self) -> int:
        """How often the status was written."""
        return self.api.writes.count("patch web")

    def store_status(self, changed: Callable[[RolloutStatus], RolloutStatus]) -> None:
        """Change the stored status without an event."""
        status = msgspec.json.encode(changed(self.status))
        self.api.one(ROLLOUTS, "web")["status"] = msgspec.json.decode(status)

    async def over(self, seconds: float = 0.01) -> Result:
        """One pass, a moment later."""
        self.world.cluster.set_clock(self.world.cluster.now + timedelta(seconds=seconds))
        return await self.reconciler.reconcile(KEY)

    def _record_event(self, note: Note) -> None:
        self.notes.append((note.reason, note.message))

    # --- what the reconciler asks for ---------------------------------------------------------------

    def observe(self, key: Key) -> Observation | None:
        seen = self.world.observe(key)
        assert seen is not None
        live = msgspec.convert(self.api.one(ROLLOUTS, "web"), Rollout)
        slices = () if self.hides_slices else seen.slices
        return structs.replace(seen, rollout=live, slices=slices)

    def now(self) -> datetime:
        return self.world.cluster.now

    def monotonic(self) -> float:
        return 0.0

    async def ensure(
        self, plan: RoutePlan, at: datetime | None = None, settles_in: float = 0.0
    ) -> Outcome:
        return self.answer

    async def confirm(self, plan: RoutePlan) -> Outcome:
        return Done()

    async def rehearse(self, plan: RoutePlan, later: LaterSteps = ()) -> Outcome:
        return Done()

    async def restore(self, action: RestoreRoutes) -> Outcome:
        return self.answer

    async def record(self, action: RecordRelease) -> Outcome:
        return Done()

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[bytes, None]:
        self.lists.append(field_selector)
        yield self.events

    def resource(self, kind: tuple[str, str]) -> Resource | None:
        return None

    # --- what it measures ---------------------------------------------------------------------------

    def approved(self) -> None:
        self.approvals += 1

    def drifted(self, action: str) -> None:
        self.drifts.append(action)

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None:
        self.ended.append((outcome, seconds))

    def state_entered(self, state: str) -> None:
        self.entered.append(state)

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None:
        self.left.append((state, waiting_for))
