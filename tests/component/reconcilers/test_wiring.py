import pytest
from msgspec import structs

from controller.api.autoscaling import AUTOSCALER
from controller.api.meta import Condition, Key, ObjectMeta
from controller.api.rollout import BlueGreenStrategy, Rollout, RolloutStatus, Strategy
from controller.api.trafficrouting import TrafficRouting
from controller.reconcilers.caches import Caches
from controller.reconcilers.wiring import Wiring
from tests.unit.builders import make_rollout, with_spec


def rollout(name: str, *, stalled: str) -> Rollout:
    status = RolloutStatus(conditions=(Condition(type="Stalled", status=stalled),))
    return Rollout(metadata=ObjectMeta(name=name, namespace="shop"), status=status)


def test_another_script_wakes_rollouts_that_were_stalled_and_all_traffic_routings() -> None:
    caches, woken = Caches(), list[Key]()
    wiring = Wiring(caches, woken.append, woken.append)
    caches.rollouts.put(rollout("refused", stalled="True"))
    caches.rollouts.put(rollout("running", stalled="False"))
    caches.traffic_routings.put(
        TrafficRouting(metadata=ObjectMeta(name="shared", namespace="shop"))
    )
    wiring.scripts_changed()
    assert woken == [Key("shop", "refused"), Key("shop", "shared")]


def test_an_autoscaler_wakes_blue_green_rollouts_of_its_namespace_without_a_look_at_all_rollouts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caches, woken = Caches(), list[Key]()
    wiring = Wiring(caches, woken.append, woken.append)
    doubled = with_spec(make_rollout(), strategy=Strategy(blue_green=BlueGreenStrategy()))
    elsewhere = structs.replace(doubled.metadata, namespace="elsewhere", uid="other")
    caches.rollouts.put(doubled)
    caches.rollouts.put(structs.replace(doubled, metadata=elsewhere))
    caches.rollouts.put(rollout("canary", stalled="False"))
    monkeypatch.setattr(caches.rollouts, "values", lambda: pytest.fail("all were looked at"))
    autoscaler = ObjectMeta(name="scaler", namespace=doubled.metadata.namespace)
    wiring.named_object_changed(AUTOSCALER, autoscaler)
    assert woken == [doubled.metadata.key]
