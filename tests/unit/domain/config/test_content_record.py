"""Comparisons of the record of revisions and contents: mistakes that a test of a whole release would hide."""

import pytest
from msgspec import structs

from controller.api.config import ConfigKind
from controller.api.rollout import ConfigPair, TrackedConfig
from controller.domain.config.content_record import (
    agrees,
    at_rest,
    changes,
    pair_of,
    stamp_for,
    to_keep,
)
from controller.domain.config.references import ConfigReference
from controller.domain.config.seen import ConfigSeen, ConfigWatched


def seen(*digests: tuple[str, str]) -> ConfigWatched:
    return ConfigWatched(
        tuple(
            ConfigSeen(ConfigReference(ConfigKind.CONFIG_MAP, name), digest)
            for name, digest in digests
        )
    )


def test_an_object_that_begins_or_ends_to_be_tracked_is_no_change() -> None:
    pair = pair_of("t", seen(("a", "1"), ("b", "1")))
    assert agrees(pair, seen(("a", "1")))
    assert agrees(pair, seen(("a", "1"), ("b", "1"), ("c", "1")))
    assert [found.name for found in changes(pair, seen(("a", "1"), ("b", "2")))] == ["ConfigMap/b"]


def test_the_record_at_rest_follows_the_tracked_objects_and_keeps_the_released_content() -> None:
    record = TrackedConfig(ConfigPair("t", "", {"ConfigMap/a": "1", "ConfigMap/b": "1"}))
    now = at_rest(record, "t", seen(("a", "2"), ("c", "1")))
    assert now.stable == ConfigPair("t", "", {"ConfigMap/a": "1", "ConfigMap/c": "1"})


def test_no_content_is_kept_of_an_unknown_revision_or_of_one_under_rollback() -> None:
    record = TrackedConfig(pair_of("t", seen(("a", "1"))))
    assert to_keep(TrackedConfig(), seen(("a", "1"))) == ()
    assert to_keep(structs.replace(record, update=ConfigPair("u")), seen(("a", "1"))) == ()
    assert [found.name for found in to_keep(record, seen(("a", "1")))] == ["ConfigMap/a"]


@pytest.mark.parametrize(
    ("stamp", "written"), [("bcdfghjklm", True), ("bcdfghjklm-2", True), ("x: y\n", False)]
)
def test_a_forged_stamp_is_not_written(stamp: str, written: bool) -> None:
    """It stands in the status until the stable content comes back, and goes into the pod template."""
    present = seen(("a", "1"))
    record = TrackedConfig(
        ConfigPair("t", stamp, {"ConfigMap/a": "1"}), ConfigPair("u", "", {"ConfigMap/a": "2"})
    )
    assert (stamp_for(record, "u", present) == stamp) is written
