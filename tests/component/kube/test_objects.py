"""The classes of kr8s, over the controller's own connections."""

from typing import Any

import pytest

from controller.errors import Invalid
from controller.kube.api import ControllerApi
from controller.kube.credentials import Source
from controller.kube.kr8s_api import Kr8sApi
from controller.kube.objects import Rollout, RolloutHistory, TrafficRouting
from controller.kube.resources import ROLLOUT_HISTORIES, ROLLOUTS, TRAFFIC_ROUTINGS, Resource
from tests.component.kube.faulty_server import FaultyServer, answering, status

WEB: dict[str, Any] = {
    "apiVersion": ROLLOUTS.api_version,
    "kind": "Rollout",
    "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "1"},
    "status": {"phase": "Healthy"},
}


async def test_a_rollout_is_read_decoded_and_patched() -> None:
    patched = {**WEB, "metadata": {**WEB["metadata"], "annotations": {"a": "b"}}}
    server = FaultyServer(others=[answering(200, {"items": [WEB]}), answering(200, patched)])
    async with server.running():
        api = ControllerApi(Source(url=server.url), user_agent="tests")
        await api.open()
        found = await Rollout.get("web", namespace="shop", api=Kr8sApi(api))
        assert isinstance(found, Rollout)
        assert found.record.status.phase == "Healthy"
        await found.patch({"metadata": {"annotations": {"a": "b"}}})
        assert found.record.metadata.annotations == {"a": "b"}
        await api.aclose()
    read, written = server.requests
    assert "metadata.name=web" in read.query["fieldSelector"]
    assert written.path == "/apis/rollouts.kruise.io/v1beta1/namespaces/shop/rollouts/web"
    assert written.json() == {"metadata": {"annotations": {"a": "b"}}}


async def test_a_refusal_of_the_api_server_becomes_our_error() -> None:
    server = FaultyServer(others=[answering(422, status(422, "Invalid", "spec: Required value"))])
    async with server.running():
        api = ControllerApi(Source(url=server.url), user_agent="tests")
        await api.open()
        with pytest.raises(Invalid, match="Required value"):
            await Rollout(WEB, api=Kr8sApi(api)).create()
        await api.aclose()


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        (Rollout, ROLLOUTS),
        (RolloutHistory, ROLLOUT_HISTORIES),
        (TrafficRouting, TRAFFIC_ROUTINGS),
    ],
)
def test_a_class_names_the_kind_as_the_api_server_serves_it(kind: Any, resource: Resource) -> None:
    assert (kind.version, kind.kind, kind.plural) == (
        resource.api_version,
        resource.kind,
        resource.plural,
    )
