"""The ConfigMaps and Secrets of a pod template, and the annotation with the digest of their content.

Invariant: pure and total; every way in which a pod can read the content of one is known here. `imagePullSecrets` do
not count: the kubelet reads them, the pod does not.
"""

from collections.abc import Iterator

import msgspec

from controller.api.config import ConfigKind
from controller.api.jsontree import JsonObject, changed, child, items, text
from controller.api.names import CONFIG_HASH
from controller.domain.decision import Value

_STAMP = ("metadata", "annotations", CONFIG_HASH)


class ConfigReference(Value, frozen=True):
    """One object that pods read; `optional` if pods also start without it."""

    kind: ConfigKind
    name: str
    optional: bool = False

    def __str__(self) -> str:
        return named(self.kind, self.name)


def named(kind: ConfigKind, name: str) -> str:
    """How an object is written down and spoken of."""
    return f"{kind.value}/{name}"


def referenced(template: bytes) -> tuple[ConfigReference, ...]:
    """Every object that pods of the template (raw JSON) read, each once, in order of their names."""
    tree = msgspec.json.decode(template, type=JsonObject)
    needed: dict[tuple[ConfigKind, str], bool] = {}
    for found in _references(child(tree, "spec")):
        place = (found.kind, found.name)
        needed[place] = needed.get(place, False) or not found.optional
    return tuple(
        ConfigReference(kind, name, not needed[kind, name]) for kind, name in sorted(needed) if name
    )


def stamp_of(template: bytes) -> str:
    """The content that the template was released for; empty if it says none."""
    return text(msgspec.json.decode(template, type=JsonObject), *_STAMP)


def stamped(template: JsonObject, stamp: str) -> JsonObject:
    """The template with that annotation, or with an empty one without it."""
    return changed(template, _STAMP, stamp or None)


def _references(spec: JsonObject) -> Iterator[ConfigReference]:
    for containers in ("initContainers", "containers"):
        for container in items(spec, containers):
            yield from _of_container(container)
    for volume in items(spec, "volumes"):
        yield from _of_source(volume, "configMap", "secret", "secretName")
        for source in items(child(volume, "projected"), "sources"):
            yield from _of_source(source, "configMap", "secret")


def _of_container(container: object) -> Iterator[ConfigReference]:
    for variable in items(container, "env"):
        yield from _of_source(child(variable, "valueFrom"), "configMapKeyRef", "secretKeyRef")
    for source in items(container, "envFrom"):
        yield from _of_source(source, "configMapRef", "secretRef")


def _of_source(
    source: object, config_map: str, secret: str, secret_name: str = "name"
) -> Iterator[ConfigReference]:
    for kind, field, key in (
        (ConfigKind.CONFIG_MAP, config_map, "name"),
        (ConfigKind.SECRET, secret, secret_name),
    ):
        found = child(source, field)
        if found:
            yield ConfigReference(kind, text(found, key), found.get("optional") is True)
