"""Rules of the steps: how many new pods, which share of the traffic, which requests."""

from itertools import pairwise

from controller.api.advice import patterns_of, steps_of
from controller.api.jsontree import JsonObject, child, items
from controller.api.quantity import is_count, parse_percent, parse_share
from controller.api.regex import uncompilable
from controller.api.validation.findings import Fault, FieldError, Findings

MAX_STEPS = 500


def check_steps(plan: JsonObject, path: str, limit: int | None, lowest_traffic: int) -> Findings:
    steps = items(plan, "steps")
    if not steps:
        return (FieldError(f"{path}.steps", Fault.REQUIRED, "a release needs at least one step"),)
    if len(steps) > MAX_STEPS:
        detail = f"{len(steps)} steps; {MAX_STEPS} is the most"
        return (FieldError(f"{path}.steps", Fault.INVALID, detail),)
    found: list[FieldError] = []
    for index, step in enumerate(steps):
        place = f"{path}.steps[{index}]"
        fields = child(step)
        found += _check_replicas(fields, place, limit)
        found += _check_traffic(fields, place, lowest_traffic)
    return (*found, *(() if found else _check_order(steps, path)))


def _check_replicas(step: JsonObject, place: str, limit: int | None) -> Findings:
    replicas, place = step.get("replicas"), f"{place}.replicas"
    if replicas is None:
        return (FieldError(place, Fault.REQUIRED, "how many new pods this step has in all"),)
    if isinstance(replicas, int) and is_count(replicas):
        if replicas > 0:
            return ()
        return (FieldError(place, Fault.INVALID, f"{replicas}: a step has at least one new pod"),)
    percent = parse_percent(replicas if isinstance(replicas, str) else None)
    if percent is None or not 0 < percent <= 100:
        detail = f'{replicas!r}: a number above 0, or a whole percentage from "1%" to "100%"'
        detail += _replicas_meant(replicas)
        return (FieldError(place, Fault.INVALID, detail),)
    routed = step.get("traffic") is not None or bool(items(step, "matches"))
    if limit is not None and routed and percent > limit:
        detail = (
            f"{percent}% is more than {limit}%: a step that moves pods of the workload itself and leads traffic must "
            "leave enough old pods for the rest of it; use enableExtraWorkloadForCanary, fewer replicas, or the flag "
            "--partition-percent-limit"
        )
        return (FieldError(place, Fault.INVALID, detail),)
    return ()


def _check_traffic(step: JsonObject, place: str, lowest: int) -> Findings:
    traffic = step.get("traffic")
    if traffic is None:
        return ()
    share = parse_share(traffic)
    if share is None or (share == 0 and lowest > 0):
        least = "above 0%" if lowest > 0 else 'from "0%"'
        detail = f'{traffic!r}: a percentage {least} to "100%", with at most two decimals'
        detail += _percent_meant(traffic)
        return (FieldError(f"{place}.traffic", Fault.INVALID, detail),)
    return ()


def _percent_meant(written: object) -> str:
    """The remedy for an author who left out the percent sign, and the quotes with it."""
    share = f"{written}%"
    return f'; write "{share}" for a share' if 0 < (parse_percent(share) or 0) <= 100 else ""


def _replicas_meant(written: object) -> str:
    """As `_percent_meant`; the author may also have put quotes round a number of pods."""
    share = _percent_meant(written)
    if not (isinstance(written, str) and parse_percent(f"{written}%")):
        return share
    begun = f"{share}, or" if share else "; write"
    return f"{begun} {written} without quotes for a number of pods"


def check_matches(plan: JsonObject, path: str) -> Findings:
    """Matches that match everything, and expressions that no gateway compiles."""
    found: list[FieldError] = []
    for index, step in steps_of(plan):
        for at, match in enumerate(map(child, items(step, "matches"))):
            if not any(match.get(field) for field in ("path", "headers", "queryParams", "method")):
                place = f"{path}.steps[{index}].matches[{at}]"
                detail = "an empty match is every request; say which by headers, path, queryParams or method"
                found.append(FieldError(place, Fault.REQUIRED, detail))
    for place, pattern in patterns_of(plan, path):
        if (problem := uncompilable(pattern)) is not None:
            detail = f"{pattern!r} is no regular expression: {problem}"
            found.append(FieldError(place, Fault.INVALID, detail))
    return tuple(found)


def _check_order(steps: list[object], path: str) -> Findings:
    """Neighbours of one sort must not go down; a number and a percentage cannot be compared here."""
    found = []
    sizes = [child(step).get("replicas") for step in steps]
    for index, (before, after) in enumerate(pairwise(sizes), start=1):
        low, high = (_size(value) for value in (before, after))
        if isinstance(before, str) == isinstance(after, str) and high < low:
            detail = f"{after} after {before}: later steps keep the pods of earlier ones"
            found.append(FieldError(f"{path}.steps[{index}].replicas", Fault.INVALID, detail))
    return tuple(found)


def _size(replicas: object) -> int:
    return replicas if isinstance(replicas, int) else parse_percent(str(replicas)) or 0
