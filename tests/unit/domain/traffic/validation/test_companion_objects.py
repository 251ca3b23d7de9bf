"""The additional objects that a script may ask for beside its gateway object."""

from typing import Any

import pytest

from controller.domain.decision import Reference
from controller.domain.traffic.tree import Json
from controller.domain.traffic.validation.companion_objects import validate_objects
from controller.domain.traffic.validation.violation import Violation

MAPPING = Reference("getambassador.io/v3alpha1", "Mapping", "web", "web", "web-canary")
OTHER = Reference("getambassador.io/v2", "Mapping", "shop", "web", "web-canary")
ORIGINAL: Any = {
    "spec": {"hostname": "h.example.com", "prefix": "/", "service": "http://web.demo:8080"}
}


def sibling(name: str = "web-canary", **changes: Any) -> dict[str, Any]:
    spec = {**ORIGINAL["spec"], "service": "web-canary.demo:8080", "weight": 20}
    return {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": name},
        "spec": spec,
    } | changes


def judged(*objects: Any) -> Any:
    return validate_objects(list(objects), ORIGINAL, (MAPPING,), (MAPPING, OTHER), "demo")


def test_no_wanted_object_means_no_created_object() -> None:
    nothings: tuple[Json, ...] = (None, [], {})
    for nothing in nothings:
        assert validate_objects(nothing, ORIGINAL, (MAPPING,), (MAPPING,), "demo") == ()


def test_a_sound_object_comes_back_complete() -> None:
    found = judged(
        sibling(metadata={"name": "web-canary", "namespace": "demo", "labels": {"a": "b"}})
    )
    assert found == (
        sibling(metadata={"name": "web-canary", "namespace": "demo", "labels": {"a": "b"}}),
    )


def test_an_object_is_written_in_the_version_of_the_reference() -> None:
    assert judged(sibling(apiVersion="getambassador.io/v1"))[0]["apiVersion"] == MAPPING.api_version


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x", "no table"),
        (sibling(kind="Secret", apiVersion="v1"), "only kinds that the Rollout refers to"),
        (sibling(metadata={"name": "Web"}), "needs a name"),
        (sibling(metadata=None), "needs a name"),
        (sibling(metadata={"name": "x", "namespace": "kube-system"}), "namespace demo"),
        (sibling(name="shop"), "the name of an object that the Rollout refers to"),
        (sibling(metadata={"name": "x", "labels": {"a": 1}}), "labels that are no strings"),
        (sibling(metadata={"name": "x", "annotations": "b"}), "annotations that are no strings"),
        (sibling(metadata={"name": "x", "finalizers": ["f"]}), "the field finalizers"),
        (sibling(status={}), "the field status"),
        (sibling(spec=None), "has no spec"),
        (sibling(spec={"hostname": "h.example.com", "service": "evil"}), "leads to evil"),
        (
            sibling(spec={"hostname": "x.example.com", "service": "web"}),
            "is for the host x.example.com",
        ),
        (sibling(spec={"service": "web"}), "every host at spec.hostname"),
    ],
)
def test_an_unsound_object_is_refused(given: Any, expected: str) -> None:
    found = judged(given)
    assert isinstance(found, Violation)
    assert expected in found.message


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ({"name": "web-canary"}, ""),
        ({"name": "web-canary", "namespace": "demo"}, ""),
        ({"name": "vault"}, "leads to vault, which neither"),
        ({"name": "web-canary", "namespace": "other"}, "leads to web-canary.other, which neither"),
    ],
    ids=["ours", "ours-with-namespace", "elsewhere", "another-namespace"],
)
def test_a_route_beside_leads_to_the_rollouts_services_only(backend: Json, expected: str) -> None:
    reference = Reference("gateway.networking.k8s.io/v1", "HTTPRoute", "web", "web", "web-canary")
    made: Json = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "web-2"},
        "spec": {"rules": [{"backendRefs": [backend]}]},
    }
    found = validate_objects([made], {"spec": {"rules": []}}, (reference,), (reference,), "demo")
    message = found.message if isinstance(found, Violation) else ""
    assert expected in message
    assert bool(expected) == bool(message)


def test_hosts_of_a_list_are_looked_at_one_by_one() -> None:
    original: Any = {"spec": {"rules": [{"host": "a"}], "tls": [{"hosts": ["a"]}]}}
    given = sibling(spec={"rules": [{"host": "a"}], "tls": [{"hosts": ["a", "b"]}]})
    found = validate_objects([given], original, (MAPPING,), (MAPPING,), "demo")
    assert isinstance(found, Violation)
    assert "host b" in found.message


def test_a_service_that_is_no_text_leads_nowhere() -> None:
    original: Any = {"spec": {"service": {"port": 80}}}
    given = sibling(spec={"service": {"port": 80}})
    assert validate_objects([given], original, (MAPPING,), (MAPPING,), "demo") == (
        sibling(metadata={"name": "web-canary", "namespace": "demo"}, spec=given["spec"]),
    )


def test_companion_objects_are_few_and_distinct() -> None:
    assert "twice" in judged(sibling(), sibling()).message
    assert "at most" in judged(*[sibling(f"x{n}") for n in range(17)]).message
    found = validate_objects("x", ORIGINAL, (MAPPING,), (MAPPING,), "demo")
    assert isinstance(found, Violation)
    assert "no list" in found.message
