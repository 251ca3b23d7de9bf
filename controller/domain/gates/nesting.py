"""Templates that name other templates, as one row of templates.

Invariant: pure. Each template counts once, behind the templates that it names, so that its own defaults outrank theirs.
A circle, a row that is too deep or too long, and a template of one namespace in a ClusterAnalysisTemplate are returned
as a problem: a gate is never measured with a part of its templates.
"""

from collections.abc import Callable, Iterable, Mapping

from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.domain import reasons
from controller.domain.availability import Unavailable
from controller.domain.decision import Refusal

Found = AnalysisTemplate | Unavailable | None
Templates = Mapping[TemplateRef, Found]
DEEPEST = 4
"""Templates on the way from a gate to a template, itself included."""
MOST = 32
"""Templates of one gate."""


def named_by(found: Found) -> tuple[TemplateRef, ...]:
    """The templates that a template names."""
    return found.spec.templates if isinstance(found, AnalysisTemplate) else ()


def reached(
    refs: Iterable[TemplateRef], find: Callable[[TemplateRef], Found]
) -> dict[TemplateRef, Found]:
    """The templates of a gate, with those that they name; one more than `MOST` at most."""
    known: dict[TemplateRef, Found] = {}
    waiting = list(refs)
    while waiting and len(known) <= MOST:
        ref = waiting.pop(0)
        if ref not in known:
            known[ref] = find(ref)
            waiting += named_by(known[ref])
    return known


def in_a_row(
    refs: tuple[TemplateRef, ...], templates: Templates
) -> tuple[AnalysisTemplate, ...] | Refusal:
    """Every template that the gate needs, the named ones first; or the first problem."""
    if len(reached(refs, templates.get)) > MOST:
        text = f"analysis: more than {MOST} templates: take some out"
        return Refusal(reasons.INVALID_ANALYSIS, text)
    row: dict[TemplateRef, AnalysisTemplate] = {}
    for ref in refs:
        problem = _put(ref, (), templates, row)
        if problem is not None:
            return problem
    return tuple(row.values())


def _put(
    ref: TemplateRef,
    way: tuple[TemplateRef, ...],
    templates: Templates,
    row: dict[TemplateRef, AnalysisTemplate],
) -> Refusal | None:
    """Put a template and those that it names into the row; `way` leads from the gate to it."""
    if ref in row:
        return None
    if wrong := _why_not(ref, way):
        return Refusal(reasons.INVALID_ANALYSIS, f"analysis: {wrong}")
    found = templates.get(ref)
    if not isinstance(found, AnalysisTemplate):
        return _missing(ref, way, found)
    for inner in found.spec.templates:
        problem = _put(inner, (*way, ref), templates, row)
        if problem is not None:
            return problem
    row[ref] = found
    return None


def _why_not(ref: TemplateRef, way: tuple[TemplateRef, ...]) -> str:
    """Why a template may not be named at the end of this way; empty if it may."""
    names = " names ".join(map(_called, (*way, ref)))
    if ref in way:
        return f"templates name each other in a circle: {names}: take one of the names out"
    if len(way) >= DEEPEST:
        return f"templates may name each other {DEEPEST} deep at most: {names}: name the last one in the gate"
    if way and way[-1].cluster_scope and not ref.cluster_scope:
        return f"{names}, which belongs to one namespace: name a ClusterAnalysisTemplate (clusterScope: true)"
    return ""


def _missing(ref: TemplateRef, way: tuple[TemplateRef, ...], found: Found) -> Refusal:
    called = _called(ref)
    named = f", which {_called(way[-1])} names," if way else ""
    if isinstance(found, Unavailable):
        text = f"analysis: {called}{named} cannot be read: {found.message}"
        return Refusal(found.reason, text, object=called)
    text = f"analysis: {called}{named} does not exist: create it, or correct the name"
    return Refusal(reasons.ANALYSIS_TEMPLATE_NOT_FOUND, text, object=called)


def _called(ref: TemplateRef) -> str:
    return f"{'Cluster' if ref.cluster_scope else ''}AnalysisTemplate {ref.name}"
