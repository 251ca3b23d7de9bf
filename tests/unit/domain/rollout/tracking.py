"""Worlds whose pods read a ConfigMap and a Secret, and a Rollout that releases their content."""

import msgspec
from msgspec import structs

from controller.api.config import ConfigKind, ConfigObject
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.names import TRACK_CONFIG
from controller.api.rollout import CanaryStrategy, StepState, TrackedConfig
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
    ours_of,
    status_of,
)
from tests.unit.builders import make_world as furnished
from tests.unit.domain.rollout.scenes import approve
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

CONFIG_MAP, SECRET = ConfigKind.CONFIG_MAP, ConfigKind.SECRET
ON = {TRACK_CONFIG: "true"}


def reading(version: str = "v1", stamp: str = "", *, optional: bool = False) -> msgspec.Raw:
    """A template whose pods read the ConfigMap and the Secret `web`."""
    sources = [
        {"configMapRef": {"name": "web", "optional": optional}},
        {"secretRef": {"name": "web"}},
    ]
    annotations = {"annotations": {"moonshift.dev/config-hash": stamp}} if stamp else {}
    tree = {
        "metadata": {"labels": {"app": "web"}, **annotations},
        "spec": {"containers": [{"name": "web", "image": f"img:{version}", "envFrom": sources}]},
    }
    return msgspec.Raw(msgspec.json.encode(tree, order="sorted"))


def says(
    world: World, content: str, kind: ConfigKind = CONFIG_MAP, **changes: object
) -> ConfigObject:
    """The owner applies a ConfigMap or Secret `web` with this content."""
    shelf = world.cluster.configs[kind]
    meta = ObjectMeta(name="web", namespace=NAMESPACE, annotations=ON if kind is SECRET else {})
    found = shelf.get(KEY) or ConfigObject(meta)
    return shelf.put(structs.replace(found, data={"key": content}, **changes))


def content(world: World, kind: ConfigKind = CONFIG_MAP, key: Key = KEY) -> str:
    """The present content of the object; `gone` where there is no object."""
    found = world.cluster.configs[kind].get(key)
    return (found.data or {}).get("key", "") if found is not None else "gone"


def copies(world: World, kind: ConfigKind = CONFIG_MAP) -> list[str]:
    """The contents of our copies."""
    return [
        content(world, kind, found.metadata.key)
        for found in world.cluster.configs[kind]
        if found.metadata.key != KEY
    ]


def tracking(
    style: str = "partition",
    *,
    replicas: int = 10,
    watched: bool = True,
    optional: bool = False,
    first: str = "one",
    annotations: dict[str, str] | None = None,
    traffic: bool = True,
    strategy: CanaryStrategy | None = None,
) -> World:
    """A world at rest under a Rollout that asks for tracking; everything says `first`."""
    found = make_deployment(replicas=replicas, annotations=annotations)
    template = reading(optional=optional)
    workload = structs.replace(found, spec=structs.replace(found.spec, template=template))
    rollout = make_rollout(strategy=strategy, style=style, annotations=ON, traffic=traffic)
    world = furnished(
        structs.replace(rollout, spec=structs.replace(rollout.spec, disabled=True)), workload
    )
    if first:
        says(world, first)
    says(world, "one", SECRET)
    if watched:
        Watch(world)
    world.people.disable(KEY, False)
    world.rest()
    return world


def record(world: World) -> TrackedConfig:
    """The record of the configuration of the revisions."""
    return ours_of(world).config or TrackedConfig()


def tracking_condition(world: World) -> tuple[str, str]:
    """Reason and message of the condition ConfigTracked."""
    found = condition(status_of(world), "ConfigTracked")
    return (found.reason, found.message) if found is not None else ("", "")


def stamp(world: World) -> str:
    """The stamp of the Deployment's present template."""
    tree = msgspec.json.decode(world.cluster.deployments[KEY].spec.template, type=JsonObject)
    metadata = tree["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata.get("annotations", {}).get("moonshift.dev/config-hash", ""))


def running(world: World) -> dict[str, int]:
    """Pods that are not terminating, by the stamp of their template (empty: none)."""
    sizes: dict[str, int] = {}
    for replica_set in world.cluster.replica_sets:
        metadata = msgspec.json.decode(replica_set.spec.template)["metadata"]
        mark = (metadata.get("annotations") or {}).get("moonshift.dev/config-hash", "")
        alive = [p for p in world.cluster.pods_of(replica_set) if not p.metadata.deleting]
        if alive:
            sizes[mark] = sizes.get(mark, 0) + len(alive)
    return sizes


def finish(world: World) -> None:
    """Approve to the end."""
    for _ in range(3):
        approve(world)


def paused_at_first(world: World) -> bool:
    """The release waits at its first step."""
    inner = inner_of(world)
    return (inner.current_step_index, inner.current_step_state) == (1, StepState.STEP_PAUSED)


def finish_after(world: World) -> None:
    """Run to the first step, then approve to the end."""
    world.rest()
    finish(world)
