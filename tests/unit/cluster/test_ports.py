"""An example's Service has the ports of the route that leads to it."""

import pytest

from tests.cluster.packaged import Sample, samples
from tests.cluster.ports import Port, ports_of

SAMPLES = {title: sample.within("demo") for title, sample in samples().items()}


def _ports(sample: Sample) -> tuple[Port, ...]:
    return sample.application("demo").ports


@pytest.mark.parametrize(
    ("title", "wanted"),
    [
        ("apisix.apache.org/ApisixRoute", Port(8080, "http")),
        ("cilium.io/CiliumEnvoyConfig", Port(8080)),
        ("gateway.solo.io/VirtualService", Port(8080)),
        ("getambassador.io/Mapping", Port(8080)),
        ("gateway.networking.k8s.io/UDPRoute", Port(3306, protocol="UDP")),
        ("kuma.io/MeshHTTPRoute", Port(8080, "http")),
        ("kuma.io/TrafficRoute", Port(8080)),
        ("networking.istio.io/VirtualService", Port(80)),
        ("traefik.io/IngressRoute", Port(8080, "http")),
        ("route.openshift.io/Route", Port(80, "http")),
        ("trafficrouting_ingress/nginx.lua", Port(8080)),
    ],
)
def test_the_service_has_the_port_of_the_route(title: str, wanted: Port) -> None:
    assert _ports(SAMPLES[title]) == (wanted,)


def test_several_ports_have_names() -> None:
    backends = [{"name": "web", "port": 8080}, {"name": "web", "port": 9090}]
    route = {"kind": "HTTPRoute", "spec": {"rules": [{"backendRefs": backends}]}}
    assert ports_of(route, "web", "demo") == (Port(8080, "port-8080"), Port(9090, "port-9090"))


def test_a_service_of_another_namespace_gives_no_port() -> None:
    backends = [{"name": "web", "namespace": "other", "port": 9090}]
    route = {"kind": "HTTPRoute", "spec": {"rules": [{"backendRefs": backends}]}}
    assert ports_of(route, "web", "demo") == (Port(80),)
