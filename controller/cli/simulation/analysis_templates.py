"""Templates of analyses among manifests, for a simulation and for `gate test`.

Invariant: an object that cannot be read as its kind is refused by its name, never guessed.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.api.decoding import decoded
from controller.cli.failures import Failure
from controller.cli.simulation.manifests import text_of
from controller.domain.traffic.tree import Tree

_T = TypeVar("_T")
TEMPLATES = {"AnalysisTemplate": False, "ClusterAnalysisTemplate": True}
"""Kinds of templates, and whether they are cluster-wide."""


def templates_of(objects: Iterable[Tree]) -> dict[TemplateRef, AnalysisTemplate]:
    """Every template among the objects."""
    found: dict[TemplateRef, AnalysisTemplate] = {}
    for item in objects:
        kind = text_of(item, "kind")
        if kind in TEMPLATES:
            ref = TemplateRef(name=text_of(item, "metadata", "name"), cluster_scope=TEMPLATES[kind])
            found[ref] = read_as(item, AnalysisTemplate)
    return found


def read_as(item: Tree, kind: type[_T]) -> _T:
    """The object as this type."""
    try:
        return decoded(msgspec.json.encode(item), kind)
    except msgspec.ValidationError as problem:
        called = " ".join(filter(None, (text_of(item, "kind"), text_of(item, "metadata", "name"))))
        raise Failure(f"{called or 'the analysis'} cannot be read: {problem}") from problem
