"""Services and EndpointSlices, in the part Moonshift reads.

Invariant: a Service's selector is read here and changed by patch only; nothing else of a Service is ever ours.
"""

import msgspec

from controller.api.meta import ObjectMeta

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
"""Label of an EndpointSlice that names its Service."""


class ServicePort(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A port of a Service, without its node port, which only one Service can have."""

    port: int = 0
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str = 0
    app_protocol: str = ""


class ServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The selector (an ExternalName or selector-less Service has none) and the ports."""

    selector: dict[str, str] = {}
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    ports: tuple[ServicePort, ...] = ()

    @property
    def headless(self) -> bool:
        """Its name stands for the addresses of its pods."""
        return self.cluster_ip == "None"


class Service(msgspec.Struct, frozen=True, rename="camel"):
    """A Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class TargetRef(msgspec.Struct, frozen=True, rename="camel"):
    """The pod behind an endpoint."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class EndpointConditions(msgspec.Struct, frozen=True, rename="camel"):
    """Readiness of an endpoint; absent means ready, by the API's definition."""

    ready: bool | None = None
    terminating: bool | None = None


class Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    """Addresses of one pod."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    target_ref: TargetRef | None = None

    @property
    def ready(self) -> bool:
        """May receive traffic: ready and not terminating."""
        return self.conditions.ready is not False and self.conditions.terminating is not True


class EndpointSlice(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a Service's endpoints."""

    metadata: ObjectMeta = ObjectMeta()
    endpoints: tuple[Endpoint, ...] | None = ()

    @property
    def service(self) -> str:
        """Name of the Service the slice belongs to."""
        return self.metadata.labels.get(SERVICE_NAME_LABEL, "")

    @property
    def ready_pod_uids(self) -> frozenset[str]:
        """UIDs of the pods that may receive requests through this slice."""
        return frozenset(
            endpoint.target_ref.uid
            for endpoint in self.endpoints or ()
            if endpoint.ready and endpoint.target_ref is not None
        )
