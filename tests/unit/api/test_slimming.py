"""A cache keeps a Deployment and a ReplicaSet whole, in bytes of its own."""

import msgspec
import pytest
from msgspec import structs

from controller.api.names import FIELD_MANAGER, IN_PROGRESSING
from controller.api.workloads import (
    Deployment,
    FieldsEntry,
    ReplicaSet,
    slimmed_deployment,
    slimmed_replica_set,
)
from tests.unit.builders import make_deployment, template

MESSAGE = (
    b'{"metadata": {"name": "web"}, "spec": {"replicas": 2, "template": {"a": 1}}, "more": "%s"}'
)


def test_a_deployment_is_kept_whole() -> None:
    found = make_deployment()
    assert slimmed_deployment(found) == found
    read = msgspec.json.decode(MESSAGE % (b"x" * 1000), type=Deployment)
    assert bytes(slimmed_deployment(read).spec.template) == b'{"a": 1}'


@pytest.mark.parametrize("marked", [True, False], ids=["marked for a release", "at rest"])
def test_the_field_managers_of_a_deployment_are_kept_during_a_release(marked: bool) -> None:
    found = make_deployment(annotations={IN_PROGRESSING: "{}"} if marked else {})
    entries = (FieldsEntry("kubectl"), FieldsEntry(FIELD_MANAGER))
    metadata = structs.replace(found.metadata, managed_fields=entries)
    slim = slimmed_deployment(structs.replace(found, metadata=metadata))
    assert slim.metadata.managed_fields == (entries if marked else ())


def test_a_replica_set_is_kept_whole() -> None:
    read = msgspec.json.decode(MESSAGE % (b"x" * 1000), type=ReplicaSet)
    slim = slimmed_replica_set(read)
    assert slim == read
    assert bytes(slim.spec.template) == b'{"a": 1}'
    spec = msgspec.structs.replace(read.spec, template=template())
    another = msgspec.structs.replace(read, spec=spec)
    assert slimmed_replica_set(another) == another
