"""Judging the objects a script wants beside the one it was asked about, before any of them is made.

Allowed is a kind that the Rollout itself refers to, in the Rollout's namespace, under a name that no reference has;
it may lead to Services and listen for hosts that the original or the Rollout names, nothing else. Where the original
says for which hosts it is, an object beside it says so too: one without a host would take everybody's requests.
Must not know gateway kinds: hosts and Services are known by the names of the fields that carry them.
"""

import re
from collections.abc import Iterable, Iterator

from controller.domain.decision import Reference
from controller.domain.traffic.flaw import Flaw
from controller.domain.traffic.hosts import is_service
from controller.domain.traffic.made import wanted_part
from controller.domain.traffic.original import strings_of
from controller.domain.traffic.scripts import kind_of
from controller.domain.traffic.tree import Json, Tree

MAX_OBJECTS = 16
"""Alternatives of a step are at most sixteen."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", re.ASCII)
_MAX_NAME = 253
_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec"})
_META = frozenset({"name", "namespace", "labels", "annotations"})
_HOSTS = frozenset({"host", "hostname", "hosts"})
_SERVICES = frozenset({"service", "serviceName"})
_SCHEME = re.compile(r"^[a-z]+://")
_PORT = re.compile(r":\d+$")

NOT_COPIED = re.compile(
    r"kubectl\.kubernetes\.io/|(acme\.)?cert-manager\.io/|external-dns\.alpha\.kubernetes\.io/"
    r"|(notifications\.)?argocd\.argoproj\.io/|argocd-image-updater\.argoproj\.io/"
    r"|(kustomize|helm|reconcile)\.(toolkit\.)?fluxcd\.io/|meta\.helm\.sh/|helm\.sh/"
    r"|app\.kubernetes\.io/(instance|managed-by)$|rollouts\.kruise\.io/|moonshift\.dev/"
    r"|nginx\.ingress\.kubernetes\.io/(server-snippet|configuration-snippet)$"
)
"""Labels and annotations that stay with the owner's object (B35): they make certificates, names in the DNS or a GitOps
tool's claim of the object, or are refused twice for one host. The original copies them all."""


def carried(part: Json) -> dict[str, str]:
    """Labels or annotations without those that stay with the owner's object."""
    return {key: text for key, text in strings_of(part).items() if not NOT_COPIED.match(key)}


def judge_objects(
    found: Json,
    original: Tree,
    through: tuple[Reference, ...],
    around: tuple[Reference, ...],
    namespace: str,
) -> tuple[Tree, ...] | Flaw:
    """The manifests to make beside the object that references lead `through`, complete, or why not.

    Those `around` are all of the Rollout: they say which kinds are allowed and which names are taken.
    """
    if found is None or found in ([], {}):
        return ()
    if not isinstance(found, list):
        return Flaw("the script's objects are no list")
    if len(found) > MAX_OBJECTS:
        return Flaw(
            f"the script wants {len(found)} further objects; at most {MAX_OBJECTS} are made"
        )
    objects: list[Tree] = []
    for item in found:
        judged = _judge(item, original, through, around, namespace)
        if isinstance(judged, Flaw):
            return judged
        if _identity(judged) in map(_identity, objects):
            return Flaw(f"the script wants {_identity(judged)} twice")
        objects.append(judged)
    return tuple(objects)


def _identity(manifest: Tree) -> str:
    return f"{manifest.get('kind')}/{wanted_part(manifest, 'name')}"


def _judge(
    item: Json,
    original: Tree,
    through: tuple[Reference, ...],
    around: tuple[Reference, ...],
    namespace: str,
) -> Tree | Flaw:
    if not isinstance(item, dict):
        return Flaw("one of the script's objects is no table")
    kind = _kind_among(item, around)
    if kind is None:
        return Flaw(
            f"the script wants a {item.get('kind')} of {item.get('apiVersion')}; only kinds that the Rollout refers to "
            "are made"
        )
    if problem := _metadata_flaw(item, kind, around, namespace) or _unknown_fields(item):
        return Flaw(f"the script's object {_identity(item)} {problem}")
    spec = item.get("spec")
    if not isinstance(spec, dict):
        return Flaw(f"the script's object {_identity(item)} has no spec")
    if problem := _place_flaw(spec, original, through, namespace):
        return Flaw(f"the script's object {_identity(item)} {problem}")
    metadata: Tree = {"name": wanted_part(item, "name"), "namespace": namespace}
    for part in ("labels", "annotations"):
        given = item["metadata"].get(part) if isinstance(item["metadata"], dict) else None
        if kept := carried(given):
            metadata[part] = {**kept}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


def _kind_among(item: Tree, references: tuple[Reference, ...]) -> Reference | None:
    """A reference of the same kind; its version is the one the object is written in."""
    group, slash, _ = str(item.get("apiVersion", "")).partition("/")
    wanted = (group if slash else "", item.get("kind"))
    return next((r for r in references if (kind_of(r).group, r.kind) == wanted), None)


def _metadata_flaw(
    item: Tree, kind: Reference, references: tuple[Reference, ...], namespace: str
) -> str:
    metadata = item.get("metadata")
    name = wanted_part(item, "name")
    if not isinstance(metadata, dict) or not _NAME.match(name) or len(name) > _MAX_NAME:
        return f"needs a name of small letters, digits and dashes, at most {_MAX_NAME}"
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


def _place_flaw(
    spec: Tree,
    original: Tree,
    through: tuple[Reference, ...],
    namespace: str,
) -> str:
    before = original.get("spec")
    pairs = ((r.stable_service, r.canary_service) for r in through)
    services = {name for pair in pairs for name in pair}
    known = set(_services_in(before))
    for name in _services_in(spec):
        if name not in known and not any(is_service(name, one, namespace) for one in services):
            return f"leads to {name}, which neither the original nor the Rollout names"
    hosts = set(_hosts_in(before))
    for host in _hosts_in(spec):
        if host not in hosts:
            return f"is for the host {host}, which the original does not name"
    if path := _boundless(spec, before):
        return f"is for every host at {path}, where the original names some"
    return ""


def _walk(value: Json, path: str = "spec") -> Iterator[tuple[str, Tree]]:
    """Every object in a tree with the names of the fields that lead to it."""
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
            said = found[key]
            said = said.get("name") if isinstance(said, dict) else said
            if isinstance(said, str):
                yield _PORT.sub("", _SCHEME.sub("", said))


def _boundless(spec: Json, original: Json) -> str:
    """A place where the original always names its hosts and the object does not; empty where there is none."""
    for key in _HOSTS:
        bound: dict[str, bool] = {}
        for path, found in _walk(original):
            bound[path] = bound.get(path, True) and key in found
        for path, found in _walk(spec):
            if bound.get(path) and key not in found:
                return f"{path}.{key}"
    return ""
