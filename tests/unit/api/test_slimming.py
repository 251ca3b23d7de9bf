"""What a cache keeps of a Deployment and a ReplicaSet: all of it, in bytes of its own."""

import msgspec

from controller.api.workloads import (
    Deployment,
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


def test_a_replica_set_is_kept_whole() -> None:
    read = msgspec.json.decode(MESSAGE % (b"x" * 1000), type=ReplicaSet)
    slim = slimmed_replica_set(read)
    assert slim == read
    assert bytes(slim.spec.template) == b'{"a": 1}'
    spec = msgspec.structs.replace(read.spec, template=template())
    another = msgspec.structs.replace(read, spec=spec)
    assert slimmed_replica_set(another) == another
