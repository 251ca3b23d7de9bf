"""Which ConfigMaps and Secrets a template refers to."""

import msgspec
import pytest

from controller.api.config import ConfigKind
from controller.api.jsontree import JsonObject
from controller.domain.config.references import ConfigReference, referenced, stamp_of, stamped

CONFIG_MAP, SECRET = ConfigKind.CONFIG_MAP, ConfigKind.SECRET


def found_in(spec: JsonObject) -> tuple[ConfigReference, ...]:
    return referenced(msgspec.json.encode({"spec": spec}))


def container(**fields: object) -> JsonObject:
    return {"containers": [{"name": "web", **fields}]}


EVERY_WAY: dict[str, tuple[JsonObject, ConfigReference]] = {
    "a variable": (
        container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}]),
        ConfigReference(CONFIG_MAP, "a"),
    ),
    "a secret variable": (
        container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]),
        ConfigReference(SECRET, "a"),
    ),
    "all variables": (
        container(envFrom=[{"configMapRef": {"name": "a"}}]),
        ConfigReference(CONFIG_MAP, "a"),
    ),
    "all secret variables, perhaps": (
        container(envFrom=[{"secretRef": {"name": "a", "optional": True}}]),
        ConfigReference(SECRET, "a", optional=True),
    ),
    "an init container": (
        {"initContainers": [{"envFrom": [{"secretRef": {"name": "a"}}]}]},
        ConfigReference(SECRET, "a"),
    ),
    "a volume": (
        {"volumes": [{"name": "v", "configMap": {"name": "a"}}]},
        ConfigReference(CONFIG_MAP, "a"),
    ),
    "a secret volume": (
        {"volumes": [{"name": "v", "secret": {"secretName": "a"}}]},
        ConfigReference(SECRET, "a"),
    ),
    "a projected volume": (
        {"volumes": [{"projected": {"sources": [{"configMap": {"name": "a", "optional": True}}]}}]},
        ConfigReference(CONFIG_MAP, "a", optional=True),
    ),
    "a projected secret": (
        {"volumes": [{"projected": {"sources": [{"secret": {"name": "a"}}]}}]},
        ConfigReference(SECRET, "a"),
    ),
}


@pytest.mark.parametrize("way", EVERY_WAY)
def test_every_way_to_read_an_object_is_known(way: str) -> None:
    spec, wanted = EVERY_WAY[way]
    assert found_in(spec) == (wanted,)


def test_an_object_is_optional_only_where_every_reference_says_so() -> None:
    sources = [{"configMapRef": {"name": "a", "optional": True}}, {"configMapRef": {"name": "a"}}]
    assert found_in(container(envFrom=sources)) == (ConfigReference(CONFIG_MAP, "a"),)


def test_each_object_is_named_once_and_in_order() -> None:
    spec = {
        **container(envFrom=[{"configMapRef": {"name": "b"}}, {"secretRef": {"name": "a"}}]),
        "volumes": [{"configMap": {"name": "b"}}, {"configMap": {"name": "a"}}],
    }
    assert [str(found) for found in found_in(spec)] == ["ConfigMap/a", "ConfigMap/b", "Secret/a"]


def test_an_empty_name_is_no_reference() -> None:
    spec = {
        **container(env=[{"name": "A", "value": "1"}], envFrom=[{"configMapRef": {}}]),
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [{"emptyDir": {}}, {"configMap": {"optional": True}}],
    }
    assert found_in(spec) == ()


def test_a_stamp_can_be_put_on_and_taken_off() -> None:
    template: JsonObject = {"metadata": {"labels": {"app": "web"}}}
    on = stamped(template, "d1")
    assert stamp_of(msgspec.json.encode(on)) == "d1"
    assert stamp_of(msgspec.json.encode(stamped(on, ""))) == ""
    assert stamped(template, "") == template
