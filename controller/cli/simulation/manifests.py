"""Manifests in files and folders, and the objects among them that a simulation needs.

Invariant: a needed object that is missing is a failure, which names the object and the places that were searched.
Other objects are ignored without a message, so that a whole folder of an application can be given.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.decoding import decoded, without_nulls
from controller.api.jsontree import JsonObject, child
from controller.api.meta import Key
from controller.api.names import CONFIGURATION, V1BETA1
from controller.api.rollout import BlueGreenStrategy, CanaryStrategy, Rollout, WorkloadRef
from controller.api.schema import problems
from controller.cli.failures import Failure
from controller.cli.files import read_text
from controller.cli.script_tools.cases import defaulted
from controller.cli.script_tools.yaml_text import read_documents
from controller.cli.simulation.behind_services import other_workloads
from controller.cli.simulation.built_in import GATEWAY_OBJECT, SERVICE, named, workload_problems
from controller.domain.decision import Reference
from controller.domain.traffic.plan.traffic_plan import references_of, services_of
from controller.domain.traffic.tree import Tree
from controller.simulation.play import Scene

_ENDINGS = (".yaml", ".yml", ".json")
_T = TypeVar("_T")


def read_manifests(paths: Iterable[Path]) -> list[Tree]:
    """Every object in the files and folders. Raises Failure for a file that is no manifest."""
    found: list[Tree] = []
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(item for item in path.rglob("*") if item.suffix in _ENDINGS)
        for file in files:
            found += _documents(file)
    return found


def _documents(file: Path) -> list[Tree]:
    try:
        documents = read_documents(read_text(file))
    except (OSError, ValueError) as problem:
        raise Failure(f"{file} cannot be read: {' '.join(str(problem).split())}") from problem
    found: list[Tree] = []
    for document in documents:
        if isinstance(document, dict) and isinstance(items := document.get("items"), list):
            found += [item for item in items if isinstance(item, dict)]
        elif isinstance(document, dict):
            found.append(document)
    return found


def text_of(obj: Tree, *path: str) -> str:
    """A string field of an object; empty if it is missing."""
    value: object = obj
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def is_rollout(obj: Tree) -> bool:
    """A Rollout of ours, of either version (others have Rollouts too)."""
    return obj.get("kind") == "Rollout" and text_of(obj, "apiVersion").startswith(
        "rollouts.kruise.io/"
    )


def config_map(objects: list[Tree]) -> dict[str, str] | None:
    """The data of the ConfigMap of scripts, if it is among the objects."""
    for item in objects:
        if item.get("kind") == "ConfigMap" and text_of(item, "metadata", "name") == CONFIGURATION:
            return _data_of(item)
    return None


def own_config_map(objects: list[Tree], key: Key) -> dict[str, str] | None:
    """The data of a ConfigMap of a namespace, if it is among the objects."""
    found = find(objects, "v1", "ConfigMap", key.name, key.namespace)
    return _data_of(found) if found is not None else None


def _data_of(config_map: Tree) -> dict[str, str]:
    data = config_map.get("data")
    found = data if isinstance(data, dict) else {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def rollout_of(obj: Tree, namespace: str) -> Rollout:
    """The Rollout as the API server would store it: v1beta1, types of matches filled in."""
    stored = converted({**obj}, V1BETA1)
    if isinstance(stored, Unconvertible):
        raise Failure(f"the Rollout cannot be read: {stored.message}")
    try:
        rollout = decoded(msgspec.json.encode(stored), Rollout)
    except msgspec.ValidationError as problem:
        raise Failure(f"the Rollout cannot be read: {problem}") from problem
    meta = msgspec.structs.replace(
        rollout.metadata,
        namespace=rollout.metadata.namespace or namespace,
        uid="simulated",
        finalizers=(),
        resource_version="",
        generation=0,
    )
    strategy = rollout.spec.strategy
    strategy = msgspec.structs.replace(
        strategy, canary=_filled(strategy.canary), blue_green=_filled(strategy.blue_green)
    )
    spec = msgspec.structs.replace(rollout.spec, strategy=strategy)
    return Rollout(metadata=meta, spec=spec)


_Style = TypeVar("_Style", CanaryStrategy, BlueGreenStrategy)


def _filled(style: _Style | None) -> _Style | None:
    """The types of matches that a step leaves out."""
    if style is None:
        return None
    steps = tuple(
        msgspec.structs.replace(step, matches=defaulted(step.matches)) for step in style.steps
    )
    changed: _Style = msgspec.structs.replace(style, steps=steps)
    return changed


class Needed(msgspec.Struct, frozen=True):
    """The objects that a simulation of a Rollout looks for."""

    workload: WorkloadRef
    services: tuple[str, ...]
    references: tuple[Reference, ...]


def needed_for(rollout: Rollout) -> Needed:
    """The workload, the stable Services, the gateway objects; the plan has a style, admission has seen to it."""
    canary = rollout.spec.strategy.plan
    assert canary is not None
    pairs = services_of(canary.traffic_routings, canary.disable_generate_canary_service)
    return Needed(
        rollout.spec.workload_ref,
        tuple(pair.stable for pair in pairs),
        references_of(
            canary.traffic_routings,
            canary.disable_generate_canary_service,
            rollout.metadata.namespace,
        ),
    )


def find(
    objects: list[Tree], api_version: str, kind: str, name: str, namespace: str
) -> Tree | None:
    """An object by group, kind and name, of the namespace or of none."""
    group = api_version.rpartition("/")[0]
    for item in objects:
        if (
            text_of(item, "apiVersion").rpartition("/")[0] == group
            and item.get("kind") == kind
            and text_of(item, "metadata", "name") == name
            and text_of(item, "metadata", "namespace") in ("", namespace)
        ):
            return item
    return None


def scene_of(rollout: Rollout, objects: list[Tree]) -> Scene:
    """The objects before the release. Missing objects other than the workload are reported by the release itself."""
    needed, namespace = needed_for(rollout), rollout.metadata.namespace
    ref = needed.workload
    workload = find(objects, ref.api_version, ref.kind, ref.name, namespace)
    if workload is None:
        raise Failure(
            f"there is no {ref.kind} {namespace}/{ref.name} among the objects: give its manifest with -f, or use "
            "--from-cluster"
        )
    services = [find(objects, "v1", "Service", name, namespace) for name in needed.services]
    gateways = (
        find(objects, item.api_version, item.kind, item.name, namespace)
        for item in needed.references
    )
    return Scene(
        rollout=rollout,
        workload=_fresh(workload, workload_problems, namespace),
        services=tuple(
            _fresh(item, lambda obj: problems(obj, SERVICE), namespace)
            for item in services
            if item is not None
        ),
        objects=tuple(
            _judged(_placed(item, namespace), lambda obj: problems(obj, GATEWAY_OBJECT))
            for item in gateways
            if item is not None
        ),
        beside=other_workloads(workload, services, objects, namespace),
    )


def _placed(obj: Mapping[str, object], namespace: str) -> JsonObject:
    # The server stores no null in the metadata of any object.
    metadata = child(without_nulls(obj.get("metadata")))
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


_ROLLING: JsonObject = {"maxSurge": "25%", "maxUnavailable": "25%"}


def _defaulted(obj: Mapping[str, object]) -> object:
    """The spec with the API server's defaults."""
    spec = obj.get("spec")
    if not isinstance(spec, dict) or obj.get("kind") not in ("Deployment", "StatefulSet"):
        return spec
    field = "strategy" if obj["kind"] == "Deployment" else "updateStrategy"
    written = spec.get(field)
    strategy: JsonObject = {
        "type": "RollingUpdate",
        **(written if isinstance(written, dict) else {}),
    }
    if field == "strategy" and strategy["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        strategy["rollingUpdate"] = {**_ROLLING, **(rolling if isinstance(rolling, dict) else {})}
    return {"replicas": 1, **spec, field: strategy}


def _fresh(
    obj: Mapping[str, object], judge: Callable[[JsonObject], tuple[str, ...]], namespace: str
) -> JsonObject:
    """The object as if it had just been made, without the fields that a cluster has added."""
    written = child(without_nulls(obj))
    placed = _judged(_placed(written, namespace), judge)
    metadata = child(placed, "metadata")
    kept = {
        key: metadata[key]
        for key in ("name", "namespace", "labels", "annotations")
        if metadata.get(key) is not None
    }
    return {**placed, "metadata": kept, "spec": _defaulted(written), "status": {}}


def _judged(obj: JsonObject, judge: Callable[[JsonObject], tuple[str, ...]]) -> JsonObject:
    if found := judge(obj):
        raise Failure(f"{named(obj)} would be refused: {'; '.join(found)}")
    return obj
