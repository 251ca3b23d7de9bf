"""The visible state of a release at rest, simulated or in a real cluster.

Invariant: both are described with the same values, so that they can be compared; the state contains nothing that
differs from run to run (names, hashes, times).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from controller.api.meta import Key
from controller.api.names import FREEZE_MIN_READY_SECONDS, WORKLOAD_TYPE
from localcluster.api import JsonObject
from tests.cluster.kinds import DEPLOYMENTS, REPLICA_SETS, ROLLOUTS
from tests.cluster.manifests import Application
from tests.cluster.view import View, deleting, image_of, ready
from tests.unit.worlds import World

REVISION = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Rest:
    """A release at rest."""

    rollout: tuple[object, ...]
    """Phase, step, state, the reason, and the unanswered requests in its status; empty without a Rollout."""
    workload: tuple[object, ...]
    """Replicas, labelled, paused, held, how many pods may be too many or too few; empty without a workload.

    Admission is not asked about a workload without the label, so nobody may change one before the label is back.
    """
    pods: tuple[tuple[str, str, int], ...]
    """The numbers of ready and of unready pods of each image."""
    pins: tuple[tuple[str, str], ...]
    """Each Service, and the image it is pinned to (empty: it is not)."""
    share: float | None
    """Percent of the traffic that go to the new version; None while the route is its owner's."""


# --- a simulated world --------------------------------------------------------------------------


def rest_of_world(app: Application, world: World) -> Rest:
    """How a simulated cluster looks."""
    key, cluster = Key(app.namespace, app.name), world.cluster
    rollout, workload = cluster.rollouts.get(key), cluster.deployments.get(key)
    images = {rs.revision: _image(rs.spec.template) for rs in cluster.replica_sets}
    pods = Counter(
        (_image(rs.spec.template), _readiness(pod.metadata.deleting, pod.ready_since is not None))
        for rs in cluster.replica_sets
        for pod in cluster.pods_of(rs)
    )
    plan = world.routes[0].plan
    return Rest(
        rollout=()
        if rollout is None
        else _rollout(
            msgspec.to_builtins(rollout.status), paused=rollout.spec.strategy.paused, app=app
        ),
        workload=()
        if workload is None
        else (
            workload.spec.replicas,
            WORKLOAD_TYPE in workload.metadata.labels,
            workload.spec.paused,
            workload.spec.min_ready_seconds == FREEZE_MIN_READY_SECONDS,
            *_limits(msgspec.to_builtins(workload.spec.strategy), paused=workload.spec.paused),
        ),
        pods=_sorted(pods),
        pins=_pins({s.metadata.name: s.spec.selector for s in cluster.services}, images),
        share=(plan.weight or None) if plan is not None else None,
    )


def _image(template: msgspec.Raw) -> str:
    image: str = msgspec.json.decode(template)["spec"]["containers"][0]["image"]
    return image


# --- a real cluster -----------------------------------------------------------------------------


def rest_of_view(app: Application, view: View) -> Rest:
    """How the recorded cluster looks."""
    rollout, workload = view.get(ROLLOUTS, app.name), view.get(DEPLOYMENTS, app.name)
    images = {
        rs["metadata"]["labels"][REVISION]: image_of(rs["spec"]["template"])
        for rs in view.of(REPLICA_SETS)
    }
    services = {
        name: found["spec"]["selector"]
        for name in (app.name, app.canary_service)
        if (found := view.service(name)) is not None
    }
    pods = Counter((image_of(p), _readiness(deleting(p), ready(p))) for p in view.pods(app.name))
    led = sum(d.weight for d in view.destinations(app.name) if d.is_canary(app))
    return Rest(
        rollout=() if rollout is None else _recorded(rollout, app),
        workload=()
        if workload is None
        else (
            workload["spec"]["replicas"],
            WORKLOAD_TYPE in workload["metadata"].get("labels", {}),
            workload["spec"].get("paused", False),
            workload["spec"].get("minReadySeconds") == FREEZE_MIN_READY_SECONDS,
            *_limits(workload["spec"]["strategy"], paused=workload["spec"].get("paused", False)),
        ),
        pods=_sorted(pods),
        pins=_pins(services, images),
        share=led or None,
    )


def _recorded(rollout: JsonObject, app: Application) -> tuple[object, ...]:
    paused = rollout["spec"]["strategy"].get("paused", False)
    return _rollout(rollout.get("status") or {}, paused=paused, app=app)


# --- both ---------------------------------------------------------------------------------------


def _rollout(status: Mapping[str, Any], *, paused: bool, app: Application) -> tuple[object, ...]:
    inner = status.get("blueGreenStatus" if app.blue_green else "canaryStatus") or {}
    ours = status.get("moonshift") or {}
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status.get("conditions") or ()}
    return (
        status.get("phase"),
        inner.get("currentStepIndex"),
        inner.get("currentStepState"),
        inner.get("nextStepIndex"),
        paused,
        conditions.get("Progressing"),
        conditions.get("Stalled"),
        ours.get("jump") or 0,
        bool(ours.get("approval")),
    )


def _limits(strategy: Mapping[str, Any], *, paused: bool) -> tuple[object, object]:
    """The rolling update limits; of a paused Deployment none, because the first step writes its own."""
    if paused:
        return None, None
    rolling = strategy.get("rollingUpdate") or {}
    return rolling.get("maxSurge"), rolling.get("maxUnavailable")


def _readiness(leaving: bool, is_ready: bool) -> str:
    if leaving:
        return "leaving"
    return "ready" if is_ready else "not ready"


def _sorted(pods: Counter[tuple[str, str]]) -> tuple[tuple[str, str, int], ...]:
    return tuple(sorted((image, state, count) for (image, state), count in pods.items()))


def _pins(
    selectors: Mapping[str, Mapping[str, str]], images: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    pinned = ((name, selector.get(REVISION, "")) for name, selector in selectors.items())
    return tuple(
        sorted((name, images.get(revision, "?") if revision else "") for name, revision in pinned)
    )
