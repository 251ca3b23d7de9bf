"""Istio as the control plane, Envoy as its ingress gateway.

Why it exists: Istio sends routes and subsets in one push, and a proxy asks for a new subset's endpoints afterwards; no
other gateway here does that. Invariant: Envoy retries nothing (Istio retries twice by default), and the
filters that only Istio's own build of Envoy has are switched off. It must not know the product.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster.api import JsonObject
from localcluster.certificates import certificate_files
from localcluster.extras import BuiltExtra, ensure_extra
from localcluster.istio import ISTIO, KINDS, MODULE
from localcluster.plane import Plane
from localcluster.progress import Reporter, SilentReporter
from localcluster.traffic.contour import CONTOUR
from localcluster.traffic.envoy import FLAGS, ask, ensure_envoy, is_live
from localcluster.traffic.gateway import (
    GATEWAY_API,
    GATEWAY_API_KINDS,
    NAMESPACE,
    PORT,
    READY_SECONDS,
    Gateway,
    Shares,
    answers,
    gateway_api_files,
    gateway_objects,
    parts,
)

POD = "istio-ingressgateway"
LABELS = {"istio": "ingressgateway", "app": POD}
GATEWAY = f"{NAMESPACE}/public"
"""The Gateway that VirtualServices name."""
XDS_PORT, HTTP_PORT, METRICS_PORT, WEBHOOK_PORT = 15010, 15080, 15014, 15017
ENVIRONMENT: Mapping[str, str] = {
    "PILOT_CERT_PROVIDER": "none",
    "ENABLE_CA_SERVER": "false",
    "XDS_AUTH": "false",
    "INJECT_ENABLED": "false",
    "PILOT_ENABLE_ALPN_FILTER": "false",
    "PILOT_ENABLE_METADATA_EXCHANGE": "false",
    "PILOT_ENABLE_TELEMETRY_LABEL": "false",
    "PILOT_ENDPOINT_TELEMETRY_LABEL": "false",
    # The proxy is started here, and not by istiod.
    "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER": "false",
    "ENABLE_LEADER_ELECTION": "false",
    "VALIDATION_WEBHOOK_CONFIG_NAME": "",
    "INJECTION_WEBHOOK_CONFIG_NAME": "",
    "POD_NAMESPACE": NAMESPACE,
    "POD_NAME": "istiod-0",
    "CLUSTER_ID": "Kubernetes",
}
MESH: JsonObject = {
    "rootNamespace": NAMESPACE,
    "trustDomain": "cluster.local",
    # Otherwise clusters ask for certificates that nobody serves.
    "enableAutoMtls": False,
    "enableTracing": False,
    "enablePrometheusMerge": False,
    "defaultHttpRetryPolicy": {"attempts": 0},
}
LOG = (
    "%START_TIME% %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %UPSTREAM_CLUSTER_RAW% "
    "%UPSTREAM_HOST% %REQ(:AUTHORITY)%\n"
)
"""Envoy's log tells a missing cluster (NC), one without endpoints (UH) and a pod that is gone (UF, UC) apart."""


@dataclass(frozen=True, slots=True)
class IstioPrograms:
    """istiod and Envoy, and Contour for its definitions of the Gateway API: Istio's module has none."""

    istio: BuiltExtra
    envoy: Path
    definitions: BuiltExtra


async def ensure_istio(reporter: Reporter | None = None) -> IstioPrograms:
    """Return istiod and Envoy; the first call on a machine builds istiod: about six minutes."""
    reporter = reporter or SilentReporter()
    return IstioPrograms(
        await ensure_extra(ISTIO, reporter),
        await ensure_envoy(reporter),
        await ensure_extra(CONTOUR, reporter),
    )


class IstioGateway(Gateway):
    """istiod, and Envoy that it leads."""

    controller = "istio.io/gateway-controller"
    listener = 80

    def __init__(self, plane: Plane, programs: IstioPrograms, *, webhook: bool = False) -> None:
        """With `webhook`, Istio's validation may refuse what is written."""
        super().__init__(plane)
        self._programs = programs
        self._webhook = webhook
        self._admin = self._folder / "admin.sock"

    async def shares(self, namespace: str, host: str) -> Shares:
        """Return what Envoy does for a host; nothing while one of its clusters has no endpoint yet."""
        dump = json.loads(await ask(self._admin, "/config_dump?include_eds"))
        found, filled = shares_in_envoy(dump, host), filled_clusters(dump, namespace)
        waits = any(name not in filled for rule in found for name, _ in rule)
        return frozenset() if waits else found

    def _kinds(self) -> Iterable[Path]:
        yield self._programs.istio.source(MODULE, KINDS)
        yield from gateway_api_files(
            self._programs.definitions.source(GATEWAY_API, GATEWAY_API_KINDS)
        )

    def _objects(self) -> Iterable[JsonObject]:
        service = f"{POD}.{NAMESPACE}.svc.cluster.local"
        yield from gateway_objects(self.controller, self.listener, service)
        yield from objects_of_gateway()

    async def _start_programs(self) -> None:
        istiod = self.at_home(self._istiod_line())
        await self._plane.add("istiod", istiod, _istiod_is_ready, READY_SECONDS)
        bootstrap = self._folder / "envoy.json"
        bootstrap.write_text(json.dumps(bootstrap_of(self._admin, await self._address())))
        envoy = (str(self._programs.envoy), "-c", str(bootstrap), *FLAGS)
        await self._plane.add("envoy", self.at_home(envoy), self._envoy_is_ready, READY_SECONDS)
        if self._webhook:
            authority = certificate_files(self._certificates).ca.read_bytes()
            body = yaml.safe_dump(webhook_configuration(authority))
            await self._plane.apply(body, server_side=True)

    @property
    def _certificates(self) -> Path:
        return self._plane.layout.directory / "pki"

    def _istiod_line(self) -> tuple[str, ...]:
        mesh = self._folder / "mesh.yaml"
        log = {"accessLogFile": str(self._folder / "access.log"), "accessLogFormat": LOG}
        mesh.write_text(yaml.safe_dump({**MESH, **log}))
        environment = (f"{name}={value}" for name, value in ENVIRONMENT.items())
        return (
            *("/usr/bin/env", "-C", str(self._folder), *environment),
            *(str(self._programs.istio.binary), "discovery", f"--meshConfig={mesh}"),
            f"--kubeconfig={self._plane.kubeconfig('gateways')}",
            *(f"--namespace={NAMESPACE}", f"--grpcAddr=127.0.0.1:{XDS_PORT}", "--secureGRPCAddr="),
            *(f"--httpAddr=127.0.0.1:{HTTP_PORT}", f"--monitoringAddr=127.0.0.1:{METRICS_PORT}"),
            *("--ctrlz_port=0", "--kubernetesApiQPS=500", "--kubernetesApiBurst=1000"),
            *self._webhook_flags(),
        )

    def _webhook_flags(self) -> tuple[str, ...]:
        """The API server's certificate is for 127.0.0.1, too. istiod wants three different files."""
        if not self._webhook:
            return ("--httpsAddr=",)
        files = certificate_files(self._certificates)
        return (
            f"--httpsAddr=127.0.0.1:{WEBHOOK_PORT}",
            f"--tlsCertFile={files.serving_certificate}",
            f"--tlsKeyFile={files.serving_key}",
            f"--caCertFile={files.ca}",
        )

    async def _address(self) -> str:
        wait = ("wait", "--for=condition=Ready", "--timeout=60s", "-n", NAMESPACE, f"pod/{POD}")
        return (await self._plane.kubectl(*wait, "-o", "jsonpath={.status.podIP}")).strip()

    async def _envoy_is_ready(self) -> bool:
        return await is_live(self._admin)


async def _istiod_is_ready() -> bool:
    return await answers(f"http://127.0.0.1:{HTTP_PORT}/ready")


def bootstrap_of(admin: Path, address: str) -> JsonObject:
    """Return the bootstrap of an ingress gateway that takes everything from istiod."""
    by_ads = {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"}
    options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http2 = {
        "@type": f"type.googleapis.com/{options}",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    place = {"socket_address": {"address": "127.0.0.1", "port_value": XDS_PORT}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": place}}]}]
    istiod = {
        "name": "istiod",
        "type": "STATIC",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": {options: http2},
        "load_assignment": {"cluster_name": "istiod", "endpoints": endpoints},
    }
    node = {
        "id": f"router~{address}~{POD}.{NAMESPACE}~{NAMESPACE}.svc.cluster.local",
        "cluster": f"{POD}.{NAMESPACE}",
        "metadata": {
            "NAME": POD,
            "NAMESPACE": NAMESPACE,
            "CLUSTER_ID": ENVIRONMENT["CLUSTER_ID"],
            "ISTIO_VERSION": "1.31.0",
            "LABELS": LABELS,
            "INSTANCE_IPS": address,
            "MESH_ID": "cluster.local",
            "SERVICE_ACCOUNT": POD,
        },
    }
    ads = {
        "api_type": "DELTA_GRPC",
        "transport_api_version": "V3",
        "set_node_on_first_message_only": True,
        "grpc_services": [{"envoy_grpc": {"cluster_name": "istiod"}}],
    }
    return {
        "node": node,
        "admin": {"address": {"pipe": {"path": str(admin)}}},
        "dynamic_resources": {"ads_config": ads, "cds_config": by_ads, "lds_config": by_ads},
        "static_resources": {"clusters": [istiod]},
    }


def objects_of_gateway() -> tuple[JsonObject, ...]:
    """Return the gateway's pod and Service, as an installation of Istio has them, and the Gateway of Istio's own kind.

    They stand in the namespace of the Gateway API's Gateway: Istio finds its proxy there only. Without the Service,
    Envoy would listen on the port of the pods.
    """
    server = {"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}
    namespace, name = GATEWAY.split("/")
    return (
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": POD, "namespace": NAMESPACE, "labels": LABELS},
            "spec": {"containers": [{"name": "istio-proxy", "image": "envoy"}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": POD, "namespace": NAMESPACE, "labels": LABELS},
            "spec": {
                "selector": LABELS,
                "ports": [{"name": "http2", "port": 80, "targetPort": PORT}],
            },
        },
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "Gateway",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"istio": LABELS["istio"]}, "servers": [server]},
        },
    )


def webhook_configuration(authority: bytes) -> JsonObject:
    """Return the registration of Istio's validation, which refuses what it cannot be asked about."""
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": ["networking.istio.io"],
        "apiVersions": ["*"],
        "resources": ["*"],
    }
    webhook = {
        "name": "rev.validation.istio.io",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "clientConfig": {
            "url": f"https://127.0.0.1:{WEBHOOK_PORT}/validate",
            "caBundle": base64.b64encode(authority).decode(),
        },
        "rules": [rule],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "istio-validator"},
        "webhooks": [webhook],
    }


def shares_in_envoy(dump: Mapping[str, Any], host: str) -> Shares:
    """Return what Envoy does for a host, as `Service/subset` with their parts; empty if it does not know it."""
    actions = [
        route["route"]
        for section in dump["configs"]
        for entry in section.get("dynamic_route_configs", ())
        for virtual_host in entry["route_config"].get("virtual_hosts", ())
        if host in virtual_host["domains"]
        for route in virtual_host.get("routes", ())
        if "route" in route
    ]
    return frozenset(parts(_destinations(action)) for action in actions)


def _destinations(action: Mapping[str, Any]) -> dict[str, float]:
    if "cluster" in action:
        return {_named(action["cluster"])[1]: 1}
    found: dict[str, float] = {}
    for entry in action["weighted_clusters"]["clusters"]:
        name = _named(entry["name"])[1]
        found[name] = found.get(name, 0) + entry["weight"]
    return found


def _named(cluster: str) -> tuple[str, str]:
    """Namespace, and Service or `Service/subset`: Istio names a cluster outbound|port|subset|Service.namespace.svc…."""
    _, _, subset, host = cluster.split("|")
    service, namespace, *_ = host.split(".")
    return namespace, f"{service}/{subset}".rstrip("/")


def filled_clusters(dump: Mapping[str, Any], namespace: str) -> set[str]:
    """Return the `Service/subset`s of a namespace that have endpoints."""
    found: set[str] = set()
    for section in dump["configs"]:
        for entry in section.get("dynamic_endpoint_configs", ()):
            cluster = entry["endpoint_config"]
            if any(group.get("lb_endpoints") for group in cluster.get("endpoints", ())):
                of, name = _named(cluster["cluster_name"])
                found |= {name} if of == namespace else set()
    return found
