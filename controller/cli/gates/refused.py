"""The API server's refusals of a gate: the schema of the CRDs, and their CEL rules written in Python.

Why: a gate that is tried from a file has met no API server yet; one that would be refused must not look measured.
Invariant: the rules and their words are those of the CRDs, which a test compares. The schema alone judges each field by
itself (lengths, patterns, names).
"""

from collections.abc import Callable, Iterator, Mapping

from controller.api.jsontree import JsonObject, child, items
from controller.api.schema import problems
from controller.cli.simulation.schema import schema_problems
from controller.domain.traffic.tree import Tree
from controller.kube.packaged_schemas import schema_of

Rule = Callable[[JsonObject], bool]
SOURCES = ("prometheus", "web", "job", "golden", "source")


def _samples_known(metric: JsonObject) -> bool:
    asked = "samples" in child(metric, "prometheus") or "samplesPath" in child(metric, "web")
    return not metric.get("minSamples") or "golden" in metric or "source" in metric or asked


def _in_order(bounds: JsonObject) -> bool:
    least, most = bounds.get("min"), bounds.get("max")
    return not (isinstance(least, int | float) and isinstance(most, int | float) and least > most)


def _row_fits(metric: JsonObject) -> bool:
    row, count = metric.get("consecutiveSuccess"), metric.get("count")
    return not (isinstance(row, int) and isinstance(count, int) and row > count)


def _one_of(*names: str) -> Rule:
    return lambda value: sum(name in value for name in names) == 1


def _any_of(*names: str) -> Rule:
    return lambda value: any(name in value for name in names)


def _has_rule(metric: JsonObject, *names: str) -> bool:
    return any(name in child(metric, field) for field in ("success", "failure") for name in names)


def _one_kind(rule: JsonObject) -> bool:
    return ("min" in rule or "max" in rule) + ("equals" in rule) + ("matches" in rule) == 1


def _path_as_format(page: JsonObject) -> bool:
    return ("valuePath" in page) != (page.get("format") == "text")


OF_ANALYSES: dict[str, Rule] = {
    "give metrics, templates or both": lambda analysis: bool(
        analysis.get("metrics") or analysis.get("templates")
    )
}
OF_METRICS: dict[str, Rule] = {
    "give exactly one of prometheus, web, job, golden and source": _one_of(*SOURCES),
    "a Job measures the new revision only, so it cannot be compared": lambda metric: (
        not ("job" in metric and "compare" in metric)
    ),
    "compare is for numbers: equals and matches cannot stand beside it": lambda metric: (
        "compare" not in metric or not _has_rule(metric, "equals", "matches")
    ),
    "matches is for the text of a web page or of a script": lambda metric: (
        "web" in metric or "source" in metric or not _has_rule(metric, "matches")
    ),
    "consecutiveSuccess is greater than count": _row_fits,
    "say what a good value is: success, compare or both": _any_of("success", "compare", "job"),
    "minSamples needs a query for the number of requests: samples or samplesPath": _samples_known,
}
OF_PAGES: dict[str, Rule] = {
    "a body is sent with a POST: give method: POST": lambda page: (
        "body" not in page or page.get("method") == "POST"
    ),
    "give valuePath for a page of JSON, and none for a page of text": _path_as_format,
    "a page of text has no samplesPath": lambda page: (
        "samplesPath" not in page or "valuePath" in page
    ),
}
OF_BOUNDS: dict[str, Rule] = {
    "give min, max or both": _any_of("min", "max"),
    "min is greater than max": _in_order,
}
OF_VALUES: dict[str, Rule] = {
    "give min, max or both; or equals; or matches": _one_kind,
    "min is greater than max": _in_order,
}
OF_COMPARISONS: dict[str, Rule] = {
    "give ratio, difference or both": _any_of("ratio", "difference"),
}
OF_ARGUMENT_SOURCES: dict[str, Rule] = {
    "give exactly one of label, annotation and secret": _one_of("label", "annotation", "secret"),
}
OF_TEMPLATES: dict[str, Rule] = {
    "scriptRef may stand only in a Rollout, where its author's right to the ServiceAccount is checked": (
        lambda metric: "scriptRef" not in child(metric, "source")
    ),
}
"""Of the metrics of templates only."""


def object_problems(obj: Tree) -> tuple[str, ...]:
    """The refusals of a Rollout or of a template."""
    found = list(schema_problems({**obj}))
    spec = child(_without_nulls({**obj}), "spec")
    if "strategy" not in spec:
        for place, metric in enumerate(_objects(spec, "metrics")):
            found += _broken(metric, OF_TEMPLATES, f"spec.metrics[{place}]")
        return (*found, *_of_analysis(spec, "spec"))
    for style in ("canary", "blueGreen"):
        plan, path = child(spec, "strategy", style), f"spec.strategy.{style}"
        found += _of_owner(plan, path)
        for place, step in enumerate(_objects(plan, "steps")):
            found += _of_owner(step, f"{path}.steps[{place}]")
    return tuple(found)


_PLACE_OF_STEPS = (
    *("properties", "spec", "properties", "strategy"),
    *("properties", "canary", "properties", "steps"),
)


def analysis_problems(item: Tree) -> tuple[str, ...]:
    """The refusals of the content of `analysis:` of a step."""
    written: JsonObject = {
        name: value for name, value in item.items() if name not in ("kind", "apiVersion")
    }
    steps = child(schema_of("rollouts.kruise.io/v1beta1", "Rollout"), *_PLACE_OF_STEPS)
    found = problems(written, child(steps, "items", "properties", "analysis"))
    return (*found, *_of_analysis(_without_nulls(written), ""))


def _without_nulls(value: Mapping[str, object]) -> JsonObject:
    """The object as the API server reads it: a field that is null is left out."""
    return {name: _cleaned(item) for name, item in value.items() if item is not None}


def _cleaned(value: object) -> object:
    match value:
        case dict():
            return _without_nulls(value)
        case list():
            return [_cleaned(one) for one in value]
        case _:
            return value


def _of_owner(owner: JsonObject, path: str) -> Iterator[str]:
    if "analysis" in owner:
        yield from _of_analysis(child(owner, "analysis"), f"{path}.analysis")


def _of_analysis(analysis: JsonObject, path: str) -> Iterator[str]:
    yield from _broken(analysis, OF_ANALYSES, path)
    yield from _of_content(analysis, path)


def _of_content(content: JsonObject, path: str) -> Iterator[str]:
    for place, argument in enumerate(_objects(content, "args")):
        here = f"{path}.args[{place}].valueFrom".removeprefix(".")
        if "valueFrom" in argument:
            yield from _broken(child(argument, "valueFrom"), OF_ARGUMENT_SOURCES, here)
    for place, metric in enumerate(_objects(content, "metrics")):
        here = f"{path}.metrics[{place}]".removeprefix(".")
        yield from _broken(metric, OF_METRICS, here)
        compare = child(metric, "compare")
        if "web" in metric:
            yield from _broken(child(metric, "web"), OF_PAGES, f"{here}.web")
        if "compare" in metric:
            yield from _broken(compare, OF_COMPARISONS, f"{here}.compare")
        for owner, rules, names, at in (
            (metric, OF_VALUES, ("success", "failure"), here),
            (compare, OF_BOUNDS, ("ratio", "difference"), f"{here}.compare"),
        ):
            for name in filter(owner.__contains__, names):
                yield from _broken(child(owner, name), rules, f"{at}.{name}")


def _objects(content: JsonObject, name: str) -> list[JsonObject]:
    return [one for one in items(content, name) if isinstance(one, dict)]


def _broken(value: JsonObject, rules: dict[str, Rule], path: str) -> Iterator[str]:
    for message, holds in rules.items():
        if not holds(value):
            yield f"{path}: {message}" if path else message
