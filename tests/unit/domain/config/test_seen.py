"""The known state of the objects that pods read."""

import msgspec

from controller.api.config import ConfigKind, ConfigObject
from controller.domain.config.seen import see_config


def test_a_kind_that_is_not_tracked_is_not_asked_for() -> None:
    sources = [{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b"}}]
    template = msgspec.json.encode({"spec": {"containers": [{"envFrom": sources}]}})
    asked: list[tuple[ConfigKind, str]] = []

    def find(kind: ConfigKind, name: str) -> ConfigObject | None:
        asked.append((kind, name))
        return None

    seen = see_config(template, frozenset({ConfigKind.CONFIG_MAP}), find, ())
    assert asked == [(ConfigKind.CONFIG_MAP, "a")]
    assert [found.name for found in seen.objects] == ["ConfigMap/a"]
