"""A pass goes on past a ConfigMap or Secret that may not be written; every other refusal ends it."""

from datetime import datetime
from random import Random

import msgspec

from controller.api.meta import Key
from controller.api.rollout import Rollout, RolloutStatus
from controller.domain.decision import Done, Note, RecordRelease
from controller.domain.observation import Observation
from controller.domain.rollout.words.status import condition
from controller.errors import Right
from controller.kube.ledger import WriteLedger
from controller.kube.resources import CONFIG_MAPS, DEPLOYMENTS, ROLLOUTS, Resource
from controller.reconcilers.reporting import Reporting
from controller.reconcilers.rollout import RolloutReconciler
from tests.component.effects.api_double import ApiDouble, Object
from tests.unit.builders import KEY, workload_of
from tests.unit.domain.rollout.tracking import CONFIG_MAP, reading, says, tracking
from tests.unit.worlds import World


class Clock:
    """The world's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.cluster.now

    def monotonic(self) -> float:
        return 0.0


class Silent:
    """Metrics nobody reads, histories nobody keeps, kinds nobody looked up."""

    def __getattr__(self, name: str) -> object:
        return lambda *values: None

    def wait(self, key: Key, right: Right) -> None:
        pass

    def forget(self, key: Key) -> None:
        pass

    async def record(self, action: RecordRelease) -> Done:
        return Done()

    def resource(self, kind: tuple[str, str]) -> Resource | None:
        return None


class Worlds:
    """One observation for ever."""

    def __init__(self, seen: Observation) -> None:
        self._seen = seen

    def observe(self, key: Key) -> Observation | None:
        return self._seen


def served(world: World) -> ApiDouble:
    """An API server with the objects of this world that a way back writes."""
    api = ApiDouble()
    _put(api, DEPLOYMENTS, msgspec.json.encode(workload_of(world)))
    _put(api, ROLLOUTS, msgspec.json.encode(world.cluster.rollouts[KEY]))
    for found in world.cluster.configs[CONFIG_MAP]:
        _put(api, CONFIG_MAPS, msgspec.json.encode(found))
    return api


def _put(api: ApiDouble, resource: Resource, raw: bytes) -> None:
    body: Object = msgspec.json.decode(raw)
    version = body["metadata"]["resourceVersion"]
    api.put(resource, body)["metadata"]["resourceVersion"] = version


async def test_a_rollback_goes_on_where_content_may_not_be_restored() -> None:
    world = tracking(traffic=False)
    says(world, "two")
    world.rest()
    world.people.undo(KEY, reading())
    world.pass_over(KEY, crash_after=0)
    seen = world.observe(KEY)
    assert seen is not None
    api, noted = served(world), list[tuple[str, str]]()
    api.forbidden.add(("patch", "configmaps"))
    silent = Silent()

    def report(rollout: Rollout, note: Note) -> None:
        noted.append((note.reason, note.message))

    reconciler = RolloutReconciler(
        worlds=Worlds(seen),
        kube=api,
        routes_for=lambda key: silent,  # type: ignore[arg-type, return-value] # no routes here
        histories=silent,
        kinds=silent,
        events=silent,  # type: ignore[arg-type] # not asked
        ledger=WriteLedger(),
        clock=Clock(world),
        reporting=Reporting(report, silent),  # type: ignore[arg-type] # answers everything
        random=Random(1),
        rights=silent,
        measures=silent,  # type: ignore[arg-type] # not asked
        checks=silent,  # type: ignore[arg-type] # not asked
    )
    result = await reconciler.reconcile(KEY)
    assert api.one(DEPLOYMENTS, "web")["spec"]["paused"] is False
    assert api.one(CONFIG_MAPS, "web")["data"] == {"key": "two"}
    status = msgspec.convert(api.one(ROLLOUTS, "web")["status"], RolloutStatus)
    stalled = condition(status, "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "Forbidden")
    text = 'configmaps is forbidden: User "simulated" cannot patch resource "configmaps"'
    assert ("Forbidden", f"{text}; grant patch on configmaps to user simulated") in noted
    assert result.wake_after is not None
