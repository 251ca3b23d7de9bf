"""A pin stays while a release needs it, and only then."""

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import PIN, PINNED
from controller.api.rollout import Rollout, RolloutSpec
from controller.domain.admission.service import admit_service, pin_annotation, pin_of
from controller.domain.admission.verdict import Amended, Unchanged
from tests.unit.domain.admission.objects import rollout


def service(name: str = "web", *, pinned: bool = False) -> JsonObject:
    """A Service, pinned to h1 or not."""
    if not pinned:
        return {"metadata": {"name": name}, "spec": {"selector": {"app": "web"}}}
    metadata = {
        "name": name,
        "labels": {PINNED: "true"},
        "annotations": {PIN: pin_annotation("pod-template-hash", "h1")},
    }
    return {
        "metadata": metadata,
        "spec": {"selector": {"app": "web", "pod-template-hash": "h1"}},
    }


BUSY = rollout("Progressing")


def test_the_pin_is_put_back_and_the_rest_is_the_owners() -> None:
    wanted = service()
    wanted["spec"] = {"selector": {"app": "shop"}, "type": "NodePort"}
    verdict = admit_service(service(pinned=True), wanted, [BUSY])
    assert isinstance(verdict, Amended)
    assert verdict.obj == {
        **service(pinned=True),
        "spec": {"selector": {"app": "shop", "pod-template-hash": "h1"}, "type": "NodePort"},
    }


def test_a_canary_service_is_protected_too() -> None:
    name = "web-canary"
    verdict = admit_service(service(name, pinned=True), service(name), [BUSY])
    assert isinstance(verdict, Amended)


@pytest.mark.parametrize(
    ("old", "rollouts"),
    [
        pytest.param(service(), [BUSY], id="not-pinned"),
        pytest.param(service(pinned=True), [], id="no-rollout"),
        pytest.param(service(pinned=True), [rollout("Healthy")], id="idle"),
        pytest.param(service("other", pinned=True), [BUSY], id="not-named"),
        pytest.param(
            service(pinned=True),
            [msgspec.structs.replace(BUSY, spec=RolloutSpec())],
            id="without-strategy",
        ),
    ],
)
def test_other_changes_of_a_service_pass(old: JsonObject, rollouts: list[Rollout]) -> None:
    assert admit_service(old, service(), rollouts) == Unchanged()


def test_an_untouched_pin_needs_no_patch() -> None:
    assert admit_service(service(pinned=True), service(pinned=True), [BUSY]) == Unchanged()


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"label": ""}', '{"label": 3}'])
def test_half_a_pin_is_none(text: str) -> None:
    assert pin_of({"metadata": {"labels": {PINNED: "true"}, "annotations": {PIN: text}}}) is None


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no selector"),
        pytest.param({"selector": {}}, id="an empty one"),
        pytest.param({"selector": {"pod-template-hash": "h1"}}, id="the pin alone"),
        pytest.param(
            {"selector": {"app": "web"}, "type": "ExternalName", "externalName": "example.org"},
            id="a name outside",
        ),
    ],
)
def test_a_service_whose_owner_takes_the_selector_away_is_not_given_one(spec: JsonObject) -> None:
    wanted = {**service(), "spec": spec}
    assert admit_service(service(pinned=True), wanted, [BUSY]) == Unchanged()
