"""Only a Service that finds its pods by a selector can lead to one revision."""

import pytest

from controller.api.meta import ObjectMeta
from controller.api.networking import Service, ServiceSpec
from controller.domain.traffic.validation.selecting import selects_pods, unusable, warning_about

HASH = "pod-template-hash"


def service(**spec: object) -> Service:
    return Service(ObjectMeta(name="web", namespace="shop"), ServiceSpec(**spec))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "Service shop/web has no selector"),
        ({"selector": {HASH: "abc"}}, "Service shop/web has no selector"),
        ({"type": "ExternalName"}, "Service shop/web is of type ExternalName"),
        ({"type": "ExternalName", "selector": {"app": "web"}}, "is of type ExternalName"),
    ],
)
def test_a_service_that_selects_no_pods_is_refused_in_words(
    spec: dict[str, object], words: str
) -> None:
    found = service(**spec)
    refusal = unusable(found, (HASH,))
    assert refusal is not None
    assert words in refusal.message
    assert "is left as it is" in refusal.message
    assert not selects_pods(found, (HASH,))


def test_a_selector_is_enough_for_any_type_of_service() -> None:
    for found in (
        service(selector={"app": "web", HASH: "abc"}),
        service(selector={"app": "web"}, cluster_ip="None"),
        service(selector={"app": "web"}, type="LoadBalancer"),
    ):
        assert unusable(found, (HASH,)) is None


def test_authors_learn_the_known_facts_about_a_service() -> None:
    assert "no selector" in warning_about(service())
    assert "headless" in warning_about(service(selector={"app": "web"}, cluster_ip="None"))
    assert warning_about(service(selector={"app": "web"})) == ""
