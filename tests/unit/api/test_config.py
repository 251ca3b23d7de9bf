"""ConfigMaps and Secrets without their content."""

import msgspec
import pytest

from controller.api.config import ConfigKind, ConfigObject, slimmed
from controller.api.jsontree import JsonObject
from controller.api.names import KEPT_CONFIG_OF, ROLLOUT_UID, TRACK_CONFIG


def read(**fields: object) -> ConfigObject:
    body: JsonObject = {"metadata": {"name": "web"}, **fields}
    return slimmed(msgspec.json.decode(msgspec.json.encode(body), type=ConfigObject))


def test_no_byte_of_the_content_is_kept() -> None:
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    found = read(
        metadata={
            "name": "web",
            "annotations": {applied: '{"data":{"k":"hush"}}', TRACK_CONFIG: "true"},
            "labels": {"team": "hush", ROLLOUT_UID: "u1"},
        },
        data={"k": "hush"},
        binaryData={"b": "aHVzaA=="},
    )
    assert "hush" not in str(found)
    assert "aHVzaA" not in str(found)
    assert found.metadata.annotations == {TRACK_CONFIG: "true"}
    assert found.metadata.labels == {ROLLOUT_UID: "u1"}


def test_the_digest_distinguishes_contents_and_nothing_else() -> None:
    one = read(data={"a": "1", "b": "2"})
    assert one.digest == read(data={"b": "2", "a": "1"}, immutable=True).digest
    assert one.digest != read(data={"a": "1", "b": "3"}).digest
    assert read(data={"a": "1"}).digest != read(binaryData={"a": "1"}).digest
    assert read(data=None).digest == read(data={}).digest


@pytest.mark.parametrize(
    ("kind", "name", "annotations", "left_out"),
    [
        (ConfigKind.CONFIG_MAP, "web", {}, False),
        (ConfigKind.CONFIG_MAP, "web", {KEPT_CONFIG_OF: "x"}, False),
        (ConfigKind.CONFIG_MAP, "web", {TRACK_CONFIG: "false"}, True),
        (ConfigKind.CONFIG_MAP, "kube-root-ca.crt", {}, True),
        (ConfigKind.SECRET, "web", {}, True),
        (ConfigKind.SECRET, "web", {TRACK_CONFIG: "false"}, True),
        (ConfigKind.SECRET, "web", {TRACK_CONFIG: "true"}, False),
    ],
)
def test_the_owner_leaves_a_config_map_out_and_takes_a_secret_in(
    kind: ConfigKind, name: str, annotations: dict[str, str], left_out: bool
) -> None:
    assert read(metadata={"name": name, "annotations": annotations}).left_out(kind) == left_out
