"""The author of a change to a gateway object: the right manager, or nobody."""

from typing import Any

import pytest

from controller.domain.traffic.drift.editors import Editor, editor_of


@pytest.mark.parametrize(
    ("fields", "editor"),
    [
        (None, ""),
        ([], ""),
        ([{"manager": "moonshift", "time": "3"}], ""),
        ([{"manager": "a", "time": "1"}, {"manager": "b", "time": "2"}, {"time": "9"}], "b"),
        (
            [{"manager": "a", "time": "1"}, {"manager": "s", "time": "2", "subresource": "status"}],
            "a",
        ),
    ],
)
def test_the_last_other_editor_is_named(fields: Any, editor: str) -> None:
    assert editor_of({"metadata": {"managedFields": fields}}).manager == editor
    assert editor_of({}) == Editor()


@pytest.mark.parametrize(
    ("text", "known"),
    [("2026-01-01T00:00:00Z", True), ("2026-01-01T00:00:00", False), ("1", False)],
)
def test_the_time_of_an_edit_is_known_if_the_object_has_one(text: str, known: bool) -> None:
    found = editor_of({"metadata": {"managedFields": [{"manager": "a", "time": text}]}})
    assert (found.at is not None) == known


def entry(manager: str, second: int, **fields: Any) -> Any:
    """A manager's write of these fields."""
    return {"manager": manager, "time": f"2026-01-01T00:00:0{second}Z", "fieldsV1": fields}


RULES: Any = {"f:spec": {"f:rules": {}}}
HOSTS: Any = {"f:spec": {"f:hostnames": {}}}
WEIGHT: Any = {"f:metadata": {"f:annotations": {"f:nginx.ingress.kubernetes.io/canary-weight": {}}}}
REWRITE: Any = {
    "f:metadata": {"f:annotations": {"f:nginx.ingress.kubernetes.io/rewrite-target": {}}}
}
LABEL: Any = {"f:metadata": {"f:labels": {"f:team": {}}}}
STATUS: Any = {"f:status": {"f:parents": {}}}


@pytest.mark.parametrize(
    ("place", "entries", "editor"),
    [
        ("spec.rules[0].backendRefs[1].weight", [entry("eve", 1, **RULES), entry("bob", 2, **LABEL)], "eve"),
        ("spec.rules[0].backendRefs[1].weight", [entry("eve", 1, **RULES), entry("bob", 2, **HOSTS)], "eve"),
        ("spec.rules", [entry("eve", 1, **RULES), entry("gateway", 2, **STATUS)], "eve"),
        ("spec", [entry("eve", 1, **RULES), entry("gateway", 2, **STATUS)], "eve"),
        ("annotations.nginx.ingress.kubernetes.io/canary-weight",
         [entry("eve", 1, **WEIGHT), entry("bob", 2, **REWRITE)], "eve"),
        ("labels.team", [entry("eve", 2, **RULES), entry("bob", 1, **LABEL)], "bob"),
        ("spec.rules", [entry("eve", 1, **RULES), entry("bob", 2, **RULES)], "bob"),
        ("spec.rules", [entry("eve", 2, **RULES), entry("bob", 2, **RULES)], ""),
        ("spec.rules", [entry("eve", 2, **LABEL), entry("bob", 3, **HOSTS)], ""),
        ("spec.rules", [entry("eve", 4, **LABEL), entry("moonshift", 3, **HOSTS), entry("bob", 2, **LABEL)], "eve"),
        ("spec.rules", [entry("moonshift", 3, **RULES)], ""),
    ],
    ids=["label", "other-field", "status", "whole-spec", "annotation", "label-is-the-place", "last-of-two",
         "same-second", "nobody-has-it", "only-one-since-us", "ours"],
)  # fmt: skip
def test_the_author_of_a_place_is_one_who_wrote_it(
    place: str, entries: list[Any], editor: str
) -> None:
    assert editor_of({"metadata": {"managedFields": entries}}, (place,)).manager == editor


def test_the_author_of_any_content_is_not_the_gateway_that_wrote_the_status() -> None:
    entries = [entry("eve", 1, **RULES), entry("gateway", 2, **STATUS)]
    assert editor_of({"metadata": {"managedFields": entries}}).manager == "eve"
