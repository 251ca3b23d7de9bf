"""Rules of checks: their names, their places, and what their scripts are given.

Why names as well as in the schema: a v1alpha1 object may carry checks in an annotation, which no schema checks.
"""

from collections.abc import Iterator

from controller.api.checks import PLACES_OF_A_STEP, CheckPlace
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.validation.findings import Fault, FieldError, Findings

PLACES = ", ".join(PLACES_OF_A_STEP)


def check_checks(plan: JsonObject, path: str) -> Findings:
    """The findings about the checks of a strategy at `path`, and of its steps."""
    found = [*_listed(plan, path, of_a_step=False)]
    steps = items(plan, "steps")
    for index, step in enumerate(map(child, steps)):
        place = f"{path}.steps[{index}]"
        found += _listed(step, place, of_a_step=True)
        if index < len(steps) - 1:
            found += _too_early(step, place)
    return tuple(found)


def checks_at(owner: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    """Every check of a step or a strategy, with its path."""
    for index, check in enumerate(map(child, items(owner, "checks"))):
        yield f"{path}.checks[{index}]", check


def _listed(owner: JsonObject, path: str, *, of_a_step: bool) -> Iterator[FieldError]:
    names: set[str] = set()
    for place, check in checks_at(owner, path):
        for field, what in (("name", "its name in messages"), ("script", "the script to ask")):
            if not text(check, field):
                yield FieldError(f"{place}.{field}", Fault.REQUIRED, what)
        if (name := text(check, "name")) and name in names:
            yield FieldError(f"{place}.name", Fault.DUPLICATE, f"{name} is a check of this list")
        names.add(name)
        at = text(check, "at")
        if at and not of_a_step:
            detail = (
                "it is asked before the release starts: leave this out, or move the check to a step"
            )
            yield FieldError(f"{place}.at", Fault.FORBIDDEN, detail)
        elif at and at not in PLACES_OF_A_STEP:
            yield FieldError(f"{place}.at", Fault.UNSUPPORTED, f"{at!r}: it is one of {PLACES}")
        yield from _parameters(check, place)


def _parameters(check: JsonObject, place: str) -> Iterator[FieldError]:
    for name, value in child(check, "params").items():
        if not isinstance(value, bool | int | float | str):
            detail = "a parameter is a text, a number, true or false"
            yield FieldError(f"{place}.params.{name}", Fault.INVALID, detail)


def _too_early(step: JsonObject, path: str) -> Iterator[FieldError]:
    for place, check in checks_at(step, path):
        if text(check, "at") == CheckPlace.END:
            detail = "the end is that of the release: use it in the last step, or at: before in the step that follows"
            yield FieldError(f"{place}.at", Fault.INVALID, detail)
