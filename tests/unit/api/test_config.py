"""ConfigMaps and Secrets without their content."""

import msgspec

from controller.api.config import ConfigObject, slimmed
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


def test_an_object_is_left_out_by_its_annotation_or_where_the_cluster_writes_it() -> None:
    assert read(metadata={"name": "web", "annotations": {TRACK_CONFIG: "false"}}).left_out
    assert read(metadata={"name": "kube-root-ca.crt"}).left_out
    assert not read(metadata={"name": "web", "annotations": {KEPT_CONFIG_OF: "x"}}).left_out
