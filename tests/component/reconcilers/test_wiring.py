from controller.api.meta import Condition, Key, ObjectMeta
from controller.api.rollout import Rollout, RolloutStatus
from controller.api.trafficrouting import TrafficRouting
from controller.reconcilers.caches import Caches
from controller.reconcilers.wiring import Wiring


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
