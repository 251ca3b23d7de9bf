"""ConfigMaps and Secrets: the questions about them, the Rollouts that they wake, and the effect of a refused write."""

from collections.abc import Iterable

import pytest

from controller.api.config import ConfigKind, ConfigObject
from controller.api.meta import Key, ObjectMeta
from controller.api.names import ROLLOUT_UID, TRACK_CONFIG
from controller.api.rollout import (
    ConfigPair,
    MoonshiftStatus,
    Rollout,
    RolloutStatus,
    TrackedConfig,
)
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment, DeploymentSpec
from controller.domain import reasons
from controller.domain.availability import Availability, Forbidden, Loading, Synced
from controller.domain.config.seen import ConfigUnwatched, ConfigWatched
from controller.domain.observation import WorkloadSeen
from controller.errors import BadConfiguration, Postponed
from controller.reconcilers.caches import Caches
from controller.reconcilers.configs import config_of
from controller.reconcilers.wiring import Wiring
from controller.settings import parse_tracked
from tests.unit.domain.rollout.tracking import reading

WEB = Key("shop", "web")
MAP = ConfigKind.CONFIG_MAP
WORKLOAD = WorkloadSeen(
    object=Deployment(spec=DeploymentSpec(template=reading())),
    kind=WorkloadKind.DEPLOYMENT,
    template_hash="t",
)


class Objects:
    """ConfigMaps and Secrets; counts the questions."""

    def __init__(self, kinds: Iterable[ConfigKind] = ConfigKind) -> None:
        self.kinds = frozenset(kinds)
        self.availability: Availability = Synced()
        self.holders: set[Key] = set()
        self.copies: list[ConfigObject] = []
        self.annotations = {TRACK_CONFIG: "true"}

    def keep_watched(self, holder: Key) -> None:
        self.holders.add(holder)

    def release(self, holder: Key) -> None:
        self.holders.discard(holder)

    def find(self, kind: ConfigKind, key: Key) -> ConfigObject | None:
        assert key == WEB
        return ConfigObject(ObjectMeta(name=key.name, annotations=self.annotations), digest="d1")

    def made_for(self, rollout_uid: str) -> Iterable[tuple[ConfigKind, ConfigObject]]:
        return ((MAP, copy) for copy in self.copies)


def rollout(name: str = "web", *, asks: bool = True, reads: str = "") -> Rollout:
    """A Rollout, perhaps with a record of the configuration that its pods read."""
    annotations = {TRACK_CONFIG: "true"} if asks else {}
    pair = ConfigPair("t", "", {reads: "d1"})
    ours = MoonshiftStatus(config=TrackedConfig(pair)) if reads else MoonshiftStatus()
    meta = ObjectMeta(
        name=name,
        namespace="shop",
        uid=f"uid-{name}",
        resource_version="1",
        annotations=annotations,
    )
    return Rollout(metadata=meta, status=RolloutStatus(moonshift=ours))


def test_a_rollout_that_does_not_ask_causes_no_question() -> None:
    objects = Objects()
    assert config_of(rollout(asks=False), WORKLOAD, objects) is None
    assert config_of(rollout(), None, objects) is None
    assert not objects.holders


def test_the_message_names_the_flag_that_a_rollout_needs() -> None:
    objects = Objects(kinds=())
    config = config_of(rollout(), WORKLOAD, objects)
    assert isinstance(config, ConfigUnwatched)
    assert config.reason == reasons.TRACKING_OFF
    assert "--track-config" in config.message
    assert not objects.holders


def test_the_configuration_that_pods_read_is_known_once_it_is_listed() -> None:
    objects = Objects()
    objects.availability = Loading("not yet")
    with pytest.raises(Postponed):
        config_of(rollout(), WORKLOAD, objects)
    assert objects.holders == {WEB}
    objects.availability = Synced()
    seen = config_of(rollout(), WORKLOAD, objects)
    assert isinstance(seen, ConfigWatched)
    assert [found.name for found in seen.objects] == ["ConfigMap/web", "Secret/web"]
    objects.availability = Forbidden("configmaps is forbidden")
    config = config_of(rollout(), WORKLOAD, objects)
    assert config == ConfigUnwatched(reasons.CONFIG_UNREADABLE, "configmaps is forbidden")
    config_of(rollout(asks=False), WORKLOAD, objects)
    assert not objects.holders


def test_a_secret_whose_owner_does_not_ask_for_releases_is_not_tracked() -> None:
    objects = Objects()
    objects.annotations = {}
    seen = config_of(rollout(), WORKLOAD, objects)
    assert isinstance(seen, ConfigWatched)
    assert [found.name for found in seen.objects] == ["ConfigMap/web"]
    assert seen.unasked == ("Secret/web",)


def test_copies_in_another_namespace_are_not_of_this_rollout() -> None:
    """A copied namespace has them, with the UID of the first namespace's Rollout."""
    objects = Objects()
    objects.copies = [
        ConfigObject(ObjectMeta(name="web-config-x", namespace=namespace))
        for namespace in ("elsewhere", "shop")
    ]
    seen = config_of(rollout(), WORKLOAD, objects)
    assert isinstance(seen, ConfigWatched)
    assert len(seen.copies) == 1


def woken_by(found: ConfigObject, *rollouts: Rollout) -> list[str]:
    caches, woken = Caches(), list[str]()
    wiring = Wiring(caches, lambda key: woken.append(key.name), lambda key: None)
    for one in rollouts:
        caches.rollouts.put(one)
    wiring.config_changed(MAP, found)
    return woken


def test_a_configmap_wakes_the_rollouts_whose_pods_read_it() -> None:
    found = ConfigObject(ObjectMeta(name="web", namespace="shop"))
    readers = (rollout("a", reads="ConfigMap/web"), rollout("b", reads="Secret/web"), rollout("c"))
    assert woken_by(found, *readers) == ["a"]
    elsewhere = ConfigObject(ObjectMeta(name="web", namespace="other"))
    assert woken_by(elsewhere, *readers) == []


def test_a_copy_wakes_its_rollout() -> None:
    meta = ObjectMeta(name="x", namespace="shop", labels={ROLLOUT_UID: "uid-b"})
    assert woken_by(ConfigObject(meta), rollout("a"), rollout("b")) == ["b"]


def test_waiting_rollouts_are_woken_when_everything_is_listed() -> None:
    caches, woken = Caches(), list[str]()
    wiring = Wiring(caches, lambda key: woken.append(key.name), lambda key: None)
    going = rollout("b", asks=False, reads="ConfigMap/web")
    for one in (rollout("a"), going, rollout("c", asks=False)):
        caches.rollouts.put(one)
    wiring.config_ready()
    assert woken == ["a", "b"]


def test_the_flag_names_configmaps_or_both() -> None:
    assert parse_tracked("") == frozenset()
    assert parse_tracked("configmaps") == {MAP}
    assert parse_tracked("configmaps, secrets") == frozenset(ConfigKind)
    for wrong in ("secrets", "all", "secrets,configmaps,x"):
        with pytest.raises(BadConfiguration, match="neither configmaps nor configmaps,secrets"):
            parse_tracked(wrong)
