"""Typed views of the in-memory API server's objects: fields that they write or keep, and the server's decisions."""

from collections.abc import Generator

import pytest
from msgspec import structs

from controller.api.jsontree import changed, child
from controller.kube.resources import DEPLOYMENTS
from controller.simulation.passes import at_once
from controller.simulation.state import ClusterState
from tests.unit.builders import KEY, NOW, make_deployment, make_pod, template


def test_a_view_writes_its_own_fields_and_keeps_all_others() -> None:
    state = ClusterState(NOW)
    whole = state.deployments.written(make_deployment())
    foreign = changed(whole, ("spec", "nobodyReadsThis"), {"a": 1})
    state.deployments.store(foreign, DEPLOYMENTS)
    found = state.deployments[KEY]
    spec = structs.replace(found.spec, template=template("v2"))
    state.deployments.put(structs.replace(found, spec=spec))
    assert child(state.deployments.raw(KEY), "spec", "nobodyReadsThis") == {"a": 1}
    assert state.deployments[KEY].spec.template == template("v2")


def test_writing_the_present_value_changes_nothing() -> None:
    state = ClusterState(NOW)
    stored = state.deployments.put(make_deployment())
    before = state.version
    assert state.deployments.put(make_deployment()) == stored
    assert state.version == before


def test_the_generation_counts_changes_of_the_spec_alone() -> None:
    state = ClusterState(NOW)
    found = state.deployments.put(make_deployment())
    status = structs.replace(found.status, replicas=3)
    found = state.deployments.put(structs.replace(found, status=status))
    assert found.metadata.generation == 1
    spec = structs.replace(found.spec, paused=True)
    assert state.deployments.put(structs.replace(found, spec=spec)).metadata.generation == 2


def test_an_object_with_finalizers_stays_until_the_last_is_gone() -> None:
    state = ClusterState(NOW)
    pod = make_pod()
    kept = structs.replace(pod, metadata=structs.replace(pod.metadata, finalizers=("a",)))
    key = state.pods.put(kept).metadata.key
    state.pods.delete(key)
    found = state.pods[key]
    assert found.metadata.deleting
    freed = structs.replace(found, metadata=structs.replace(found.metadata, finalizers=()))
    state.pods.put(freed)
    assert state.pods.get(key) is None


class Never:
    """Something that does not happen."""

    def __await__(self) -> Generator[None]:
        yield


async def waiting() -> None:
    await Never()


def test_a_pass_that_would_have_to_wait_is_a_mistake_of_the_simulation() -> None:
    with pytest.raises(AssertionError, match="waits for something"):
        at_once(waiting())
