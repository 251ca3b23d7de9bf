"""Validates the companion objects that a script asks for, before any of them is made.

An object is allowed when the Rollout itself refers to its kind, it is in the Rollout's namespace, and no reference has
its name. It may lead only to Services, and serve only hosts, that the original or the Rollout names. When the original
names its hosts, a companion object must name hosts as well: an object without a host would take the requests of all
hosts.
Must not know gateway kinds: hosts and Services are recognised by the names of their fields.
"""

import re
from collections.abc import Iterable, Iterator

from controller.api.workloads import MAX_NAME
from controller.domain.decision import Reference
from controller.domain.traffic.companions.claims_of_tools import is_claim
from controller.domain.traffic.companions.companion import wanted_part
from controller.domain.traffic.hosts import destinations_in, is_service
from controller.domain.traffic.original.content import strings_of
from controller.domain.traffic.plan.script_input import kind_of
from controller.domain.traffic.tree import Json, Tree
from controller.domain.traffic.validation.violation import Violation

MAX_OBJECTS = 16
"""A step has at most sixteen alternatives."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", re.ASCII)
_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec"})
_META = frozenset({"name", "namespace", "labels", "annotations"})
_HOSTS = frozenset({"host", "hostname", "hosts"})
_SERVICES = frozenset({"service", "serviceName"})
_SCHEME = re.compile(r"^[a-z]+://")
_PORT = re.compile(r":\d+$")

NOT_COPIED = re.compile(
    r"(acme\.)?cert-manager\.io/|external-dns\.alpha\.kubernetes\.io/"
    r"|app\.kubernetes\.io/managed-by$|rollouts\.kruise\.io/|moonshift\.dev/"
    r"|nginx\.ingress\.kubernetes\.io/(server-snippet|configuration-snippet)$"
)
"""Labels and annotations that are not copied (B35), besides the claims of tools: they would create certificates or DNS
names, or be refused for a second object of the same host. The original copies them all.
"""


def carried(part: Json) -> dict[str, str]:
    """Labels or annotations, without the keys that must not be copied."""
    return {
        key: text
        for key, text in strings_of(part).items()
        if not NOT_COPIED.match(key) and not is_claim(key)
    }


def validate_objects(
    found: Json,
    original: Tree,
    of_object: tuple[Reference, ...],
    of_rollout: tuple[Reference, ...],
    namespace: str,
) -> tuple[Tree, ...] | Violation:
    """The complete manifests of the companion objects, or a violation.

    The references `of_object` lead through this gateway object: companion objects may lead to their Services. The
    references `of_rollout` are all references of the Rollout: their kinds are allowed, and their names are taken.
    """
    if found is None or found in ([], {}):
        return ()
    if not isinstance(found, list):
        return Violation("the script's objects are no list")
    if len(found) > MAX_OBJECTS:
        return Violation(
            f"the script wants {len(found)} further objects; at most {MAX_OBJECTS} are made"
        )
    objects: list[Tree] = []
    for item in found:
        judged = _validated(item, original, of_object, of_rollout, namespace)
        if isinstance(judged, Violation):
            return judged
        if _identity(judged) in map(_identity, objects):
            return Violation(f"the script wants {_identity(judged)} twice")
        objects.append(judged)
    return tuple(objects)


def _identity(manifest: Tree) -> str:
    return f"{manifest.get('kind')}/{wanted_part(manifest, 'name')}"


def _validated(
    item: Json,
    original: Tree,
    of_object: tuple[Reference, ...],
    of_rollout: tuple[Reference, ...],
    namespace: str,
) -> Tree | Violation:
    if not isinstance(item, dict):
        return Violation("one of the script's objects is no table")
    kind = _kind_among(item, of_rollout)
    if kind is None:
        return Violation(
            f"the script wants a {item.get('kind')} of {item.get('apiVersion')}; only kinds that the Rollout refers to "
            "are made"
        )
    if problem := _metadata_violation(item, kind, of_rollout, namespace) or _unknown_fields(item):
        return Violation(f"the script's object {_identity(item)} {problem}")
    spec = item.get("spec")
    if not isinstance(spec, dict):
        return Violation(f"the script's object {_identity(item)} has no spec")
    if problem := _place_violation(spec, original, of_object, namespace):
        return Violation(f"the script's object {_identity(item)} {problem}")
    metadata: Tree = {"name": wanted_part(item, "name"), "namespace": namespace}
    for part in ("labels", "annotations"):
        given = item["metadata"].get(part) if isinstance(item["metadata"], dict) else None
        if kept := carried(given):
            metadata[part] = {**kept}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


def _kind_among(item: Tree, references: tuple[Reference, ...]) -> Reference | None:
    """A reference of the same kind; the object is written in that reference's version."""
    group, slash, _ = str(item.get("apiVersion", "")).partition("/")
    wanted = (group if slash else "", item.get("kind"))
    return next((r for r in references if (kind_of(r).group, r.kind) == wanted), None)


def _metadata_violation(
    item: Tree, kind: Reference, references: tuple[Reference, ...], namespace: str
) -> str:
    metadata = item.get("metadata")
    name = wanted_part(item, "name")
    if not isinstance(metadata, dict) or not _NAME.match(name) or len(name) > MAX_NAME:
        return f"needs a name of small letters, digits and dashes, at most {MAX_NAME}"
    if metadata.get("namespace") not in (None, "", namespace):
        return f"is not of the Rollout's namespace {namespace}"
    if any(r.name == name and kind_of(r) == kind_of(kind) for r in references):
        return "has the name of an object that the Rollout refers to"
    for part in ("labels", "annotations"):
        given = metadata.get(part)
        if given and (not isinstance(given, dict) or len(strings_of(given)) != len(given)):
            return f"has {part} that are no strings"
    return ""


def _unknown_fields(item: Tree) -> str:
    metadata = item["metadata"]
    inner = metadata.keys() if isinstance(metadata, dict) else frozenset()
    more = sorted([*(item.keys() - _FIELDS), *(inner - _META)])
    return f"has the field {more[0]}, which a script may not set" if more else ""


# --- where it leads and what it listens for --------------------------------------------------------


def _place_violation(
    spec: Tree,
    original: Tree,
    of_object: tuple[Reference, ...],
    namespace: str,
) -> str:
    before = original.get("spec")
    pairs = ((r.stable_service, r.canary_service) for r in of_object)
    services = {name for pair in pairs for name in pair}
    known = {*_services_in(before), *_backends_in(before)}
    for name in (*_services_in(spec), *_backends_in(spec)):
        if name not in known and not any(is_service(name, one, namespace) for one in services):
            return f"leads to {name}, which neither the original nor the Rollout names"
    hosts = set(_hosts_in(before))
    for host in _hosts_in(spec):
        if host not in hosts:
            return f"is for the host {host}, which the original does not name"
    if path := _place_without_hosts(spec, before):
        return f"is for every host at {path}, where the original names some"
    return ""


def _walk(value: Json, path: str = "spec") -> Iterator[tuple[str, Tree]]:
    """Every object in a tree with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, path)


def _texts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else ()


def _hosts_in(value: Json) -> Iterator[str]:
    for _, found in _walk(value):
        for key in _HOSTS & found.keys():
            yield from _texts(found[key])


def _services_in(value: Json) -> Iterator[str]:
    """Services by the fields that name them, without scheme and port."""
    for _, found in _walk(value):
        for key in _SERVICES & found.keys():
            name = found[key]
            name = name.get("name") if isinstance(name, dict) else name
            if isinstance(name, str):
                yield _PORT.sub("", _SCHEME.sub("", name))


def _backends_in(value: Json) -> Iterator[str]:
    """Services in lists of backends."""
    return (destination.host for destination in destinations_in(value))


def _place_without_hosts(spec: Json, original: Json) -> str:
    """A place where the original always names its hosts and the object does not; empty if there is none."""
    for key in _HOSTS:
        bound: dict[str, bool] = {}
        for path, found in _walk(original):
            bound[path] = bound.get(path, True) and key in found
        for path, found in _walk(spec):
            if bound.get(path) and key not in found:
                return f"{path}.{key}"
    return ""
