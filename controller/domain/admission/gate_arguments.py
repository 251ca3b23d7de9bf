"""Warnings about arguments in the Job of a gate that its author will not get there.

Invariant: pure and total, for any JSON. Refuses nothing: the argument may have no value of others today, and templates
are written without a review. The release says the same before its first pod (`gates/in_job`).
"""

import re
from collections.abc import Iterator

import msgspec

from controller.api.analysis import JobQuery
from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import V1BETA1
from controller.domain.gates.in_job import is_environment, variable
from controller.domain.gates.jobs import Place, filled_job

_ARGUMENT = re.compile(r"\{\{\s*args\.([A-Za-z][A-Za-z0-9_-]*)\s*\}\}")


def misplaced_arguments(obj: JsonObject) -> tuple[str, ...]:
    """Arguments that are read from the workload, in a Job's command or another field outside of its environment."""
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return ()
    return tuple(
        f"{path}: {{{{ args.{name} }}}} is read from the workload; a Job gets such a value only in its environment: "
        f'write "${variable(name)}" in a shell script, or $({variable(name)}) as an argument of another program'
        for path, analysis in gates_in(beta)
        for name in _misplaced(analysis)
    )


def gates_in(beta: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Every gate of a Rollout as v1beta1, with the field that has it."""
    for style in ("canary", "blueGreen"):
        plan, path = child(beta, "spec", "strategy", style), f"spec.strategy.{style}"
        yield f"{path}.analysis", child(plan, "analysis")
        for index, step in enumerate(map(child, items(plan, "steps"))):
            yield f"{path}.steps[{index}].analysis", child(step, "analysis")


def _misplaced(analysis: JsonObject) -> tuple[str, ...]:
    foreign = {
        text(argument, "name")
        for argument in map(child, items(analysis, "args"))
        if any(text(argument, "valueFrom", source) for source in ("label", "annotation"))
    }
    found: list[str] = []

    def look(words: str, place: Place) -> str:
        if not is_environment(place):
            found.extend(name for name in _ARGUMENT.findall(words) if name in foreign)
        return words

    for metric in map(child, items(analysis, "metrics")):
        spec = child(metric, "job", "spec")
        filled_job(JobQuery(msgspec.Raw(msgspec.json.encode(spec))), look)
    return tuple(dict.fromkeys(found))
