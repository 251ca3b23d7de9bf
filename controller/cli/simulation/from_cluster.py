"""Reads from the cluster the objects that a simulation needs and no file has.

Invariant: reads only; one request for each missing object. An object that the cluster does not have either is left out:
the release would miss it too, and says so.
"""

from collections.abc import Iterator

from controller.api.meta import Key
from controller.api.names import CONFIGURATION
from controller.api.rollout import Rollout
from controller.cli.simulation.manifests import (
    find,
    is_rollout,
    needed_for,
    rollout_of,
    text_of,
)
from controller.domain.traffic.tree import Tree, decode_tree
from controller.errors import NotFound, UnreadableAnswer
from controller.kube.client import KubeClient
from controller.kube.resources import (
    ANALYSIS_TEMPLATES,
    CLUSTER_ANALYSIS_TEMPLATES,
    CONFIG_MAPS,
    ROLLOUTS,
    Resource,
)
from controller.kube.served import served


async def completed(
    client: KubeClient, objects: list[Tree], namespace: str, name: str, home: str
) -> list[Tree]:
    """The objects, completed with the others that the Rollout needs; `home` is the controller's namespace, and
    `namespace` that of a Rollout that does not say its own.
    """
    found = [*objects]
    rollout = next((one for one in found if is_rollout(one) and _is_called(one, name)), None)
    if rollout is None and name:
        rollout = await _read(client, ROLLOUTS, Key(namespace, name))
        found += [rollout] if rollout is not None else []
    if rollout is None:
        return found
    read = rollout_of(rollout, namespace)
    if read.spec.strategy.plan is None:
        return found
    namespace = read.metadata.namespace
    for api_version, kind, called in _wanted(read):
        if find(found, api_version, kind, called, namespace) is None:
            resource = await served(client, api_version, kind)
            item = await _read(client, resource, Key(namespace, called)) if resource else None
            found += [item] if item is not None else []
    if find(found, "v1", "ConfigMap", CONFIGURATION, home) is None:
        scripts = await _read(client, CONFIG_MAPS, Key(home, CONFIGURATION))
        found += [scripts] if scripts is not None else []
    return found


def _is_called(rollout: Tree, name: str) -> bool:
    return name in ("", text_of(rollout, "metadata", "name"))


def _wanted(rollout: Rollout) -> Iterator[tuple[str, str, str]]:
    """Version, kind and name of each object that the Rollout needs."""
    needed = needed_for(rollout)
    yield needed.workload.api_version, needed.workload.kind, needed.workload.name
    yield from (("v1", "Service", service) for service in needed.services)
    for item in needed.references:
        yield item.api_version, item.kind, item.name
        if item.own_script is not None:
            yield "v1", "ConfigMap", item.own_script.config_map
    plan = rollout.spec.strategy.plan
    gates = () if plan is None else (plan.analysis, *(step.analysis for step in plan.steps))
    for gate in gates:
        for ref in gate.templates if gate is not None else ():
            kind = CLUSTER_ANALYSIS_TEMPLATES if ref.cluster_scope else ANALYSIS_TEMPLATES
            yield kind.api_version, kind.kind, ref.name


async def _read(client: KubeClient, resource: Resource, key: Key) -> Tree | None:
    try:
        namespace = key.namespace if resource.namespaced else ""
        raw = await client.get(resource, namespace, key.name)
    except NotFound:
        return None
    try:
        return decode_tree(raw)
    except ValueError as failure:
        raise UnreadableAnswer(f"{resource.kind} {key} cannot be read: {failure}") from failure
