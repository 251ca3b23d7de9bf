"""Values that passes read again are computed once, for any number of Rollouts, and forgotten with each Rollout."""

from collections import Counter

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key, ObjectMeta
from controller.domain.decision import Reference
from controller.kube.kind_watch import RawObject
from controller.reconcilers import remembered
from controller.reconcilers.remembered import Plans, Routes, Templates
from tests.unit.builders import KEY, make_rollout

MANY = 5_000
REFERENCE = Reference("gates.example.com/v1", "Lane", "web", "stable", "canary")
LANE = RawObject(ObjectMeta(name="web"), msgspec.Raw(b'{"metadata":{"name":"web"}}'))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each is computed."""
    counted: Counter[str] = Counter()
    for name in ("see_route", "plan_hash_of"):
        computed = getattr(remembered, name)

        def counting(
            *arguments: object, _name: str = name, _do: object = computed, **more: object
        ) -> object:
            counted[_name] += 1
            return _do(*arguments, **more)  # type: ignore[operator]

        monkeypatch.setattr(remembered, name, counting)
    return counted


def test_routes_of_thousands_of_rollouts_are_judged_once_each(calls: Counter[str]) -> None:
    routes = Routes()
    for _ in range(2):
        for number in range(MANY):
            routes.see(Key("shop", f"web-{number}"), REFERENCE, LANE, ())
    assert calls["see_route"] == MANY


def test_a_route_is_forgotten_with_its_rollout(calls: Counter[str]) -> None:
    routes = Routes()
    for number in range(MANY):
        owner = Key("shop", f"web-{number}")
        routes.see(owner, REFERENCE, LANE, ())
        routes.forget(owner)
    assert routes._known == {}


def test_plans_of_thousands_of_rollouts_are_hashed_once_each(calls: Counter[str]) -> None:
    rollout = make_rollout()
    many = [
        structs.replace(rollout, metadata=structs.replace(rollout.metadata, name=f"web-{number}"))
        for number in range(MANY)
    ]
    plans = Plans()
    for _ in range(2):
        for one in many:
            plans.hash(one)
    assert calls["plan_hash_of"] == MANY


def test_a_plan_is_forgotten_with_its_rollout() -> None:
    plans = Plans()
    plans.hash(make_rollout())
    plans.forget(KEY)
    assert plans._known == {}


def test_only_digests_of_large_templates_are_remembered() -> None:
    templates = Templates()
    for number in range(100):
        large = {"metadata": {"labels": {"app": f"web-{number}"}}, "spec": {"text": "x" * 10_000}}
        template = msgspec.Raw(msgspec.json.encode(large))
        assert templates.read(template).labels == {"app": f"web-{number}"}
        assert templates.name(template) == templates.name(template)
    kept = [*templates._hashes.items(), *templates._names.items()]
    assert len(kept) == 200
    assert max(len(part) for pair in kept for part in pair) <= 32
