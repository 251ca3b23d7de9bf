"""Remembers computed values: most passes read the same objects as the pass before.

Invariant: an answer depends on the object alone, so remembering only saves work. Memory is bounded, by a number or by
the number of Rollouts: the objects that the passes of a Rollout read are remembered for it, and forgotten with it.
Entries that are bounded by a number are small: for a pod template, which may have ten kilobytes, a digest and a hash.
"""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple, TypeVar

import msgspec

from controller.api.meta import Key
from controller.api.original.revision import original_revision
from controller.api.plan_hash import plan_hash_of
from controller.api.podsets import PodSet
from controller.api.rollout import Rollout, Strategy
from controller.api.workloads import template_hash
from controller.domain.decision import Reference
from controller.domain.observation import RouteState
from controller.domain.pods.running import update_strategy
from controller.domain.traffic.drift.object_state import see_route
from controller.kube.kind_watch import RawObject

REMEMBERED_TEMPLATES = 4096
REMEMBERED_SETS = 1024

K = TypeVar("K")
V = TypeVar("V")


class _TemplateHead(msgspec.Struct, frozen=True):
    metadata: "_TemplateMeta | None" = None


class _TemplateMeta(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class Template(NamedTuple):
    """The identity and the labels of a pod template."""

    hash: str
    labels: dict[str, str]


class Templates:
    """Hashes of templates: every event of a workload contains the same bytes."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[bytes, str] = OrderedDict()
        self._names: OrderedDict[bytes, str] = OrderedDict()

    def name(self, template: msgspec.Raw) -> str:
        """The original's name of a Deployment's template; empty if it has none."""
        return _computed(self._names, template, _original_name)

    def hash(self, template: msgspec.Raw) -> str:
        """Identity of a pod template."""
        return _computed(self._hashes, template, template_hash)

    def read(self, template: msgspec.Raw) -> Template:
        """Identity and labels of a pod template."""
        head = msgspec.json.decode(template, type=_TemplateHead)
        labels = head.metadata.labels if head.metadata is not None else None
        return Template(self.hash(template), labels or {})


def _original_name(template: bytes) -> str:
    return original_revision(template) or ""


def _computed(
    known: OrderedDict[bytes, str], template: msgspec.Raw, compute: Callable[[bytes], str]
) -> str:
    """The value for these bytes; computed if it is not known yet."""
    digest = sha256(template).digest()
    value = known.get(digest)
    if value is None:
        value = known[digest] = compute(bytes(template))
        _bound(known, REMEMBERED_TEMPLATES)
    return value


class _Read(NamedTuple):
    """A set of pods with the object it was read from."""

    object: RawObject
    view: PodSet


class PodSets:
    """Decoded sets of pods: most passes read the same object as the pass before."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Read] = OrderedDict()

    def read(self, found: RawObject) -> PodSet:
        """The typed view of an object. Raises msgspec's error if it, or its update strategy, has other types."""
        uid = found.metadata.uid
        known = self._known.get(uid)
        if known is None or known.object is not found:
            view = msgspec.json.decode(found.raw, type=PodSet)
            update_strategy(view)
            known = self._known[uid] = _Read(found, view)
            _bound(self._known, REMEMBERED_SETS)
        return known.view


class _Remembered(NamedTuple):
    """A gateway object and its computed state."""

    object: RawObject
    reference: Reference
    raw_companions: tuple[RawObject, ...]
    state: RouteState

    def is_of(
        self, found: RawObject, reference: Reference, raw_companions: tuple[RawObject, ...]
    ) -> bool:
        """The object and its companion objects are the same as before."""
        return (
            self.object is found
            and self.reference == reference
            and len(self.raw_companions) == len(raw_companions)
            and all(
                one is other for one, other in zip(self.raw_companions, raw_companions, strict=True)
            )
        )


class Routes:
    """States of gateway objects: most passes read the same object as the pass before."""

    def __init__(self) -> None:
        self._known: dict[Key, dict[tuple[str, str], _Remembered]] = {}

    def see(
        self,
        rollout: Key,
        reference: Reference,
        found: RawObject,
        raw_companions: tuple[RawObject, ...],
    ) -> RouteState:
        """The state of the object for that Rollout."""
        at = (reference.kind, reference.name)
        of_owner = self._known.setdefault(rollout, {})
        known = of_owner.get(at)
        if known is None or not known.is_of(found, reference, raw_companions):
            raws = tuple(bytes(item.raw) for item in raw_companions)
            state = see_route(
                reference,
                bytes(found.raw),
                rollout=rollout.name,
                namespace=rollout.namespace,
                raw_companions=raws,
            )
            known = of_owner[at] = _Remembered(found, reference, raw_companions, state)
        return known.state

    def forget(self, owner: Key) -> None:
        """The owner is gone."""
        self._known.pop(owner, None)


class _Hashed(NamedTuple):
    """A plan with its hash."""

    strategy: Strategy
    hash: str


class Plans:
    """Hashes of plans: a plan rarely changes.

    The generation is not enough: a change through v1alpha1 can change the plan by an annotation.
    """

    def __init__(self) -> None:
        self._known: dict[Key, _Hashed] = {}

    def hash(self, rollout: Rollout) -> str:
        """Hash of the Rollout's plan."""
        key, strategy = rollout.metadata.key, rollout.spec.strategy
        known = self._known.get(key)
        if known is None or known.strategy != strategy:
            known = self._known[key] = _Hashed(strategy, plan_hash_of(strategy))
        return known.hash

    def forget(self, rollout: Key) -> None:
        """The Rollout is gone."""
        self._known.pop(rollout, None)


def _bound(remembered: OrderedDict[K, V], most: int) -> None:
    if len(remembered) > most:
        remembered.popitem(last=False)
