"""Rules of a v1beta1 spec: exactly one strategy, and the parts that belong to the strategy as a whole."""

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child
from controller.api.rollout import RolloutSpec
from controller.api.validation.checks import check_checks
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.routings import check_listed_once, check_routings
from controller.api.validation.rules import Rules
from controller.api.validation.seconds import check_seconds
from controller.api.validation.steps import check_matches, check_steps
from controller.api.validation.workload import check_workload, uses_extra_workload


def validate_spec(spec: JsonObject, rules: Rules, lowest_traffic: int) -> Findings:
    found = (*check_workload(spec, rules), *_check_strategy(spec, rules, lowest_traffic))
    return (*_undecodable(spec, found), *found)


def _undecodable(spec: JsonObject, found: Findings) -> Findings:
    """The schema vouches for types, unless a v1alpha1 object carries v1beta1 parts in an annotation.

    A malformed share has a rule that says what to write instead: it is reported once, in the words of that rule.
    """
    try:
        decoded(msgspec.json.encode(spec), RolloutSpec)
    except msgspec.ValidationError as error:
        text = str(error)
        paths = [f"${one.path.removeprefix('spec')}`" for one in found]
        shares = tuple(place for place in paths if place.endswith(".traffic`"))
        return () if text.endswith(shares) else (FieldError("spec", Fault.INVALID, text),)
    return ()


def _check_strategy(spec: JsonObject, rules: Rules, lowest_traffic: int) -> Findings:
    strategy, path = child(spec, "strategy"), "spec.strategy"
    given = [name for name in ("canary", "blueGreen") if isinstance(strategy.get(name), dict)]
    if len(given) != 1:
        detail = "exactly one of canary and blueGreen says how to release"
        return (FieldError(path, Fault.INVALID if given else Fault.REQUIRED, detail),)
    name = given[0]
    plan, path = child(strategy, name), f"{path}.{name}"
    if name == "blueGreen":
        lowest_traffic = 0
    limited = name == "canary" and not uses_extra_workload(spec)
    limit = rules.partition_percent_limit if limited else None
    return (
        *check_steps(plan, path, limit, lowest_traffic),
        *check_matches(plan, path),
        *check_checks(plan, path),
        *check_routings(plan, path),
        *check_listed_once(plan, path),
        *_check_deadline(plan, path),
        *check_seconds(plan, path),
    )


def _check_deadline(plan: JsonObject, path: str) -> Findings:
    if not plan.get("onDeadlineExceeded") or plan.get("progressDeadlineSeconds") is not None:
        return ()
    detail = "says what happens when progressDeadlineSeconds is over: set that, or leave this out"
    return (FieldError(f"{path}.onDeadlineExceeded", Fault.INVALID, detail),)
