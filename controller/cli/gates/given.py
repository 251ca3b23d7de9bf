"""The gates that a person wants to try: from manifests, from a Rollout of the cluster, or from both.

Invariant: every form of a gate (in a Rollout, an Analysis alone, a template) becomes the same type.
The command line outranks the files, and files outrank the cluster.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import structs

from controller.api.analysis import (
    Analysis,
    Argument,
    TemplateRef,
)
from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.cli.failures import Failure
from controller.cli.gates.refused import analysis_problems, object_problems
from controller.cli.simulation.analysis_templates import TEMPLATES, read_as, templates_of
from controller.cli.simulation.manifests import is_rollout, read_manifests, rollout_of, text_of
from controller.domain.gates.nesting import Templates
from controller.domain.traffic.tree import Tree

BACKGROUND = 0


class Gate(msgspec.Struct, frozen=True):
    """One gate; `step` is 0 for the background gate, None for a template or an Analysis without a Rollout."""

    named: str
    step: int | None
    analysis: Analysis


class Given(msgspec.Struct, frozen=True):
    """All gates, and the inputs of their metrics."""

    gates: tuple[Gate, ...] = ()
    rollout: Rollout | None = None
    templates: Templates = {}
    workload: ObjectMeta = ObjectMeta()
    objects: tuple[Tree, ...] = ()
    """Everything in the files: scripts and Secrets are among it."""


def read_given(paths: Iterable[Path], namespace: str) -> Given:
    """The gate in the files; a Failure for a file without a gate."""
    rollouts: list[Rollout] = []
    alone: list[Gate] = []
    objects = read_manifests(paths)
    templates = templates_of(objects)
    for item in objects:
        _check(item)
        if is_rollout(item):
            rollouts.append(rollout_of(item, namespace))
        elif _is_analysis(item):
            alone.append(Gate("analysis", None, read_as(item, Analysis)))
    if len(rollouts) > 1:
        raise Failure("there are several Rollouts among the files: give one")
    rollout = rollouts[0] if rollouts else None
    gates = (*(gates_of(rollout) if rollout is not None else ()), *alone)
    if not gates:
        gates = tuple(_gate_of(ref) for ref in templates)
    return Given(gates, rollout, templates, _workload(objects, rollout), tuple(objects))


def _check(item: Tree) -> None:
    """A Failure for a gate that no API server would take."""
    refused: tuple[str, ...] = ()
    if _is_analysis(item):
        refused = analysis_problems(item)
    elif is_rollout(item) or text_of(item, "kind") in TEMPLATES:
        refused = object_problems(item)
    if refused:
        called = " ".join(filter(None, (text_of(item, "kind"), text_of(item, "metadata", "name"))))
        raise Failure(f"{called or 'the analysis'} would be refused: {'; '.join(refused)}")


def gates_of(rollout: Rollout) -> tuple[Gate, ...]:
    """The gates of a Rollout, the background gate first."""
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    found = [(BACKGROUND, plan.analysis)]
    found += [(number, step.analysis) for number, step in enumerate(plan.steps, start=1)]
    return tuple(
        Gate(f"step {number}" if number else "in the background", number, analysis)
        for number, analysis in found
        if analysis is not None
    )


def chosen(given: Given, step: int | None) -> Given:
    """The gates of the chosen step, or all of them; a Failure if there is none."""
    gates = given.gates if step is None else tuple(g for g in given.gates if g.step == step)
    if not gates:
        where = "" if step is None else f" at step {step}"
        raise Failure(f"there is no gate{where}: a step or the strategy needs an analysis")
    return structs.replace(given, gates=gates)


def with_arguments(gate: Gate, values: Mapping[str, str]) -> Gate:
    """The gate with arguments of the command line, which outrank its own."""
    kept = tuple(argument for argument in gate.analysis.args if argument.name not in values)
    added = tuple(Argument(name=name, value=value) for name, value in values.items())
    return structs.replace(gate, analysis=structs.replace(gate.analysis, args=kept + added))


def _gate_of(ref: TemplateRef) -> Gate:
    kind = "ClusterAnalysisTemplate" if ref.cluster_scope else "AnalysisTemplate"
    return Gate(f"{kind} {ref.name}", None, Analysis(templates=(ref,)))


def _is_analysis(item: Tree) -> bool:
    """The content of a step's `analysis:`, in a file of its own."""
    return item.get("kind") in (None, "Analysis") and ("metrics" in item or "templates" in item)


def _workload(objects: list[Tree], rollout: Rollout | None) -> ObjectMeta:
    """The labels and annotations that arguments are read from."""
    if rollout is None:
        return ObjectMeta()
    ref = rollout.spec.workload_ref
    for item in objects:
        if (item.get("kind"), text_of(item, "metadata", "name")) == (ref.kind, ref.name):
            return read_as({"metadata": item.get("metadata")}, _Named).metadata
    return ObjectMeta(name=ref.name)


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
