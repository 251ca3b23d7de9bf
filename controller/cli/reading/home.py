"""The namespace in which the controller runs: its Lease is there, and commands about its pods name it.

Why: an installation may be in another namespace than `kruise-rollout`, and no Rollout says so. The CRD does, because
the API server calls the controller for conversions, by a Service of that namespace.
Invariant: a person who may not read the CRD gets the default; nothing here raises.
"""

import msgspec

from controller.api.decoding import decoded
from controller.api.names import DEFAULT_NAMESPACE
from controller.cli.reading.session import Session
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.resources import CRDS, ROLLOUTS


class _Service(msgspec.Struct, frozen=True):
    namespace: str = ""


class _ClientConfig(msgspec.Struct, frozen=True):
    service: _Service | None = None


class _Webhook(msgspec.Struct, frozen=True, rename="camel"):
    client_config: _ClientConfig = _ClientConfig()


class _Conversion(msgspec.Struct, frozen=True):
    webhook: _Webhook | None = None


class _Spec(msgspec.Struct, frozen=True):
    conversion: _Conversion = _Conversion()


class _Definition(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


async def announced_namespace(client: KubeClient) -> str:
    """The namespace of the Service that converts Rollouts; the default if it cannot be read."""
    try:
        found = decoded(await client.get(CRDS, "", ROLLOUTS.name), _Definition)
    except (MoonshiftError, msgspec.DecodeError):
        return DEFAULT_NAMESPACE
    webhook = found.spec.conversion.webhook
    service = webhook.client_config.service if webhook is not None else None
    return (service.namespace if service is not None else "") or DEFAULT_NAMESPACE


async def controller_namespace(session: Session) -> str:
    """The namespace that the person named, or else the announced one."""
    return session.controller_namespace or await announced_namespace(session.client)
