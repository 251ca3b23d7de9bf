"""Objects that scripts write have only fields that the kind's own project knows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.api import JsonObject
from localcluster.realtypes import OF_A_MODULE, Judge
from tests.types.expected import SCRIPTS, Found, cases, objects_of

LEAST_FROM_MODULES = 15

FREE = {
    "apisix.apache.org/ApisixRoute": ("plugins.config",),
    "consul.hashicorp.com/ServiceRouter": ("requestHeaders.add", "requestHeaders.set"),
    "consul.hashicorp.com/ServiceSplitter": (
        "requestHeaders.add",
        "requestHeaders.set",
        "responseHeaders.set",
    ),
    "getambassador.io/Mapping": (
        "spec.add_request_headers",
        "spec.headers",
        "spec.query_parameters",
        "spec.regex_headers",
        "spec.regex_query_parameters",
    ),
    "kuma.io/MeshHTTPRoute": ("targetRef.labels", "backendRefs.labels"),
    "kuma.io/TrafficRoute": (
        "sources.match",
        "destinations.match",
        "conf.destination",
        "http.destination",
        "split.destination",
        "match.headers",
    ),
    "networking.istio.io/DestinationRule": ("subsets.labels",),
    "networking.istio.io/VirtualService": (
        "match.headers",
        "match.queryParams",
        "headers.request.add",
        "headers.request.set",
        "headers.response.set",
    ),
}
"""Maps whose keys are the owner's: names of headers, labels, plugins' own settings. Ends of paths without indexes."""

Step = str | int


def paths(value: object, before: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Yield the path of every key below a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*before, key)
            yield from paths(inner, (*before, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*before, index))


def misspelt(value: object, path: tuple[Step, ...]) -> object:
    """Return a value with one more letter in one key."""
    first, *rest = path
    if isinstance(value, list):
        return [
            misspelt(inner, tuple(rest)) if index == first else inner
            for index, inner in enumerate(value)
        ]
    assert isinstance(value, dict)
    return {
        f"{key}x" if key == first and not rest else key: misspelt(inner, tuple(rest))
        if key == first and rest
        else inner
        for key, inner in value.items()
    }


def is_free(kind: str, path: tuple[Step, ...]) -> bool:
    """The key is in a map whose keys are the owner's, or further below."""
    names = [step for step in path if isinstance(step, str)]
    parents = [".".join(names[:length]) for length in range(1, len(names))]
    return any(parent.endswith(free) for parent in parents for free in FREE.get(kind, ()))


def packaged_kinds() -> set[str]:
    """Return the kinds that cases are about."""
    return {item.kind for case in cases() for item in objects_of(case)}


def misspellings(found: Found, seen: set[tuple[str, str]]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the object with each of its keys misspelt, but for those that were misspelt elsewhere."""
    for path in paths(found.object.get("spec"), ("spec",)):
        name = ".".join(step for step in path if isinstance(step, str))
        if isinstance(path[-1], int) or (found.kind, name) in seen or is_free(found.kind, path):
            continue
        seen.add((found.kind, name))
        wrong = misspelt(found.object, path)
        assert isinstance(wrong, dict)
        yield f"{found.kind} {name}", wrong


@pytest.mark.parametrize("case", cases(), ids=lambda path: str(path.relative_to(SCRIPTS)))
async def test_every_object_of_a_case_is_of_its_kinds_published_type(
    judge: Judge, case: Path
) -> None:
    found = list(objects_of(case))
    known = await judge.kinds()
    unknown = sorted({item.kind for item in found} - known.keys())
    if unknown:
        pytest.skip(f"NO PUBLISHED TYPE for {unknown}: add it to localcluster/realtypes/kinds.go")
    errors = await judge.errors([item.object for item in found])
    wrong = [f"{item}: {error}" for item, error in zip(found, errors, strict=True) if error]
    assert wrong == []


async def test_a_misspelt_field_is_refused_in_every_kind(judge: Judge) -> None:
    known = await judge.kinds()
    seen: set[tuple[str, str]] = set()
    questions = [
        question
        for case in cases()
        for item in objects_of(case)
        if item.kind in known
        for question in misspellings(item, seen)
    ]
    errors = await judge.errors([body for _, body in questions])
    assert {kind for kind, _ in seen} == packaged_kinds() & known.keys()
    assert [name for (name, _), error in zip(questions, errors, strict=True) if not error] == []


async def test_the_types_of_most_kinds_are_imported_and_all_others_name_their_source(
    judge: Judge,
) -> None:
    known = await judge.kinds()
    imported = {kind for kind in packaged_kinds() if known.get(kind, "").startswith(OF_A_MODULE)}
    assert len(imported) >= LEAST_FROM_MODULES
    assert all("/" in source for source in known.values())


async def test_an_unknown_kind_and_an_unknown_version_are_refused(judge: Judge) -> None:
    def route(version: str, kind: str = "HTTPRoute") -> JsonObject:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": {}}

    good, kind, version = await judge.errors(
        [
            route("gateway.networking.k8s.io/v1"),
            route("gateway.networking.k8s.io/v1", "Unheard"),
            route("gateway.networking.k8s.io/v9"),
        ]
    )
    assert good == ""
    assert "no type for" in kind
    assert "not served in version" in version
