"""Reads from the cluster the objects that a simulation needs and no file has.

Invariant: reads only; one request for each missing object. An object that the cluster does not have either is left out:
the release would miss it too, and says so.
"""

from controller.api.meta import Key
from controller.api.names import CONFIGURATION
from controller.cli.simulation.manifests import find, is_rollout, needed_for, rollout_of
from controller.domain.traffic.tree import Tree, decode_tree
from controller.errors import NotFound, UnreadableAnswer
from controller.kube.client import KubeClient
from controller.kube.resources import CONFIG_MAPS, ROLLOUTS, Resource
from controller.kube.served import served


async def completed(
    client: KubeClient, objects: list[Tree], namespace: str, name: str, home: str
) -> list[Tree]:
    """The objects, completed with the others that the Rollout needs; `home` is the controller's namespace."""
    found = [*objects]
    rollout = next(filter(is_rollout, found), None)
    if rollout is None and name:
        rollout = await _read(client, ROLLOUTS, Key(namespace, name))
        found += [rollout] if rollout is not None else []
    if rollout is None:
        return found
    read = rollout_of(rollout, namespace)
    if read.spec.strategy.plan is None:
        return found
    needed = needed_for(read)
    wanted = [(needed.workload.api_version, needed.workload.kind, needed.workload.name)]
    wanted += [("v1", "Service", service) for service in needed.services]
    wanted += [(item.api_version, item.kind, item.name) for item in needed.references]
    own_scripts = (item.own_script for item in needed.references)
    wanted += [("v1", "ConfigMap", own.config_map) for own in own_scripts if own is not None]
    for api_version, kind, called in wanted:
        if find(found, api_version, kind, called, namespace) is None:
            resource = await served(client, api_version, kind)
            item = await _read(client, resource, Key(namespace, called)) if resource else None
            found += [item] if item is not None else []
    if find(found, "v1", "ConfigMap", CONFIGURATION, home) is None:
        scripts = await _read(client, CONFIG_MAPS, Key(home, CONFIGURATION))
        found += [scripts] if scripts is not None else []
    return found


async def _read(client: KubeClient, resource: Resource, key: Key) -> Tree | None:
    try:
        raw = await client.get(resource, key.namespace, key.name)
    except NotFound:
        return None
    try:
        return decode_tree(raw)
    except ValueError as failure:
        raise UnreadableAnswer(f"{resource.kind} {key} cannot be read: {failure}") from failure
