"""The Notification that a person wants to try: from files, or from the cluster.

Invariant: files outrank the cluster, and a Notification of a file needs no cluster. An object that no API server would
take is refused with its problems.
"""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from controller.api.decoding import decoded
from controller.api.names import DEFAULT_NAMESPACE
from controller.api.notification import Notification
from controller.cli.failures import Failure
from controller.cli.reading.home import controller_namespace
from controller.cli.reading.session import Session
from controller.cli.simulation.analysis_templates import read_as
from controller.cli.simulation.manifests import text_of
from controller.cli.simulation.schema import schema_problems
from controller.domain.traffic.tree import Tree
from controller.kube.resources import CLUSTER_NOTIFICATIONS, NOTIFICATIONS

KIND, CLUSTER_KIND = NOTIFICATIONS.kind, CLUSTER_NOTIFICATIONS.kind


class Named(msgspec.Struct, frozen=True):
    """The Notification that the command line names: NAME, or clusternotification/NAME."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Found(msgspec.Struct, frozen=True):
    """The Notification; `place` is the namespace of its Secrets and its ConfigMap."""

    notification: Notification
    place: str
    objects: tuple[Tree, ...]
    session: Session | None = None

    @property
    def rollouts(self) -> str:
        """A namespace whose Rollouts it is about."""
        spec, own = self.notification.spec, self.notification.metadata.namespace
        return own or next(iter(spec.namespaces), "default")


def named(text: str) -> Named:
    """The Notification that NAME means: NAME alone, or with its kind before it."""
    kind, slash, name = text.rpartition("/")
    kinds = {"": KIND, KIND.lower(): KIND, CLUSTER_KIND.lower(): CLUSTER_KIND}
    if kind.lower() not in kinds or not name or (slash and not kind):
        raise Failure(f"{text!r}: write NAME for a Notification, or clusternotification/NAME")
    return Named(kinds[kind.lower()], name)


def in_files(wanted: Named, objects: tuple[Tree, ...], namespace: str) -> Found | None:
    """The Notification among the objects; None if no Notification is there, so the cluster may have it."""
    there = [item for item in objects if text_of(item, "kind") in (KIND, CLUSTER_KIND)]
    for item in there:
        if Named(text_of(item, "kind"), text_of(item, "metadata", "name")) == wanted:
            return _read(wanted, item, objects, namespace)
    if there:
        raise Failure(f"{wanted} is not among the files, which have {_listed(there)}")
    return None


def _read(wanted: Named, item: Tree, objects: tuple[Tree, ...], namespace: str) -> Found:
    if refused := schema_problems({**item}):
        raise Failure(f"{wanted} would be refused: {'; '.join(refused)}")
    notification = read_as(item, Notification)
    if wanted.kind == CLUSTER_KIND:
        return Found(notification, DEFAULT_NAMESPACE, objects)
    place = notification.metadata.namespace or namespace
    meta = structs.replace(notification.metadata, namespace=place)
    return Found(structs.replace(notification, metadata=meta), place, objects)


def _listed(objects: Iterable[Tree]) -> str:
    return ", ".join(
        f"{text_of(item, 'kind')} {text_of(item, 'metadata', 'name')}" for item in objects
    )


async def in_cluster(wanted: Named, objects: tuple[Tree, ...], session: Session) -> Found:
    """The Notification of the cluster. Raises `NotFound`."""
    if wanted.kind == CLUSTER_KIND:
        body = await session.client.get(CLUSTER_NOTIFICATIONS, "", wanted.name)
        place = await controller_namespace(session)
    else:
        body = await session.client.get(NOTIFICATIONS, session.namespace, wanted.name)
        place = session.namespace
    return Found(decoded(body, Notification), place, objects, session)
