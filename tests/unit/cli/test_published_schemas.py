"""The published schema of a gateway object judges the writes of a release, and not the writes of its owner."""

from typing import Any

import pytest

from controller.cli.simulation.gateway_kinds import FOLDER, PublishedSchemas, schema_of
from controller.errors import Invalid
from controller.kube.resources import Resource
from localcluster.gateway_schemas import KINDS

ROUTES = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")


def route(*rules: Any, version: str = "v1") -> Any:
    return {
        "apiVersion": f"gateway.networking.k8s.io/{version}",
        "kind": "HTTPRoute",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"rules": list(rules)},
    }


def backend(**fields: Any) -> Any:
    return {"backendRefs": [{"name": "web", "port": 80, **fields}]}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (backend(filters={}), "spec.rules[0].backendRefs[0].filters: Invalid value: must be of type array, not an"),
        (backend(weight=12.5), "spec.rules[0].backendRefs[0].weight: Invalid value: must be of type integer, not 12.5"),
        (backend(weight=2_000_000), "should be at most 1000000"),
        ({"backendRefs": [{"port": 80}]}, "spec.rules[0].backendRefs[0].name: Required value"),
        ({"filters": [{"type": "Rewrite"}]}, "spec.rules[0].filters[0].type: Unsupported value"),
    ],
    ids=["object-for-a-list", "no-whole-number", "too-much", "missing", "no-such-word"],
)  # fmt: skip
def test_a_mistake_that_is_new_is_refused(rule: Any, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        PublishedSchemas().review(ROUTES, route(backend()), route(rule))
    assert text in str(refused.value)
    assert str(refused.value).startswith('HTTPRoute.gateway.networking.k8s.io "web" is invalid: ')
    with pytest.raises(Invalid):
        PublishedSchemas().review(ROUTES, None, route(rule))


@pytest.mark.parametrize(
    "new",
    [
        route(backend(), backend(weight=90)),
        route({"matches": [{"path": {"value": "/"}}], **backend()}),
        route(backend(field="of a later version")),
        route(backend(filters=None)),
        route(backend(filters={}), version="v9"),
        {"apiVersion": "example.dev/v1", "kind": "Lane", "spec": {"rules": 1}},
    ],
    ids=["sound", "default", "unknown-field", "null", "unknown-version", "unknown-kind"],
)
def test_what_the_schema_allows_or_does_not_know_is_stored(new: Any) -> None:
    assert PublishedSchemas().review(ROUTES, None, new) == new


def test_a_mistake_of_the_owner_is_left_to_the_server_wherever_its_rule_moves() -> None:
    before, after = route(backend(weight="x")), route(backend(), backend(weight="x"))
    assert PublishedSchemas().review(ROUTES, before, after) == after


@pytest.mark.parametrize("group", KINDS)
def test_every_version_of_a_kind_has_a_schema_of_its_spec(group: str) -> None:
    for kind in KINDS[group]:
        assert (FOLDER / f"{group}.{kind}.json.gz").exists(), (
            "python -m localcluster.gateway_schemas"
        )
    versions = ("v1", "v1beta1", "v1alpha1", "v1alpha2", "v1alpha3", "v2", "v3alpha1")
    for kind in KINDS[group]:
        found = [schema_of(f"{group}/{version}", kind) for version in versions]
        assert any(found)
        assert all(schema.get("type") == "object" for schema in found if schema)


def test_the_schemas_stay_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 100_000
