"""Credentials of metric sources: Secrets of the Rollout's namespace, read when a measurement needs them.

Invariant: never kept and never watched; each comes with the hosts to which its values may be sent. A Secret that cannot
be read is reported in the API server's words, without a value.
"""

import base64
import binascii

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import SEND_TO
from controller.domain.gates.secret_destinations import GateSecret
from controller.domain.missing_rights import with_remedy
from controller.errors import Forbidden, MoonshiftError, NotFound
from controller.kube.resources import SECRETS
from controller.kube.verbs import Gets
from controller.outbound.fetching import Failed


class _Secret(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


class GateSecrets:
    """Secrets that gates name."""

    def __init__(self, reads: Gets) -> None:
        self._reads = reads

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The Secret, with its values as text. Raises `Failed` if it cannot be read."""
        try:
            raw = await self._reads.get(SECRETS, namespace, name)
        except NotFound as missing:
            raise Failed(f"Secret {namespace}/{name} does not exist") from missing
        except Forbidden as refused:
            raise Failed(with_remedy(refused.message)) from refused
        except MoonshiftError as failure:
            raise Failed(f"Secret {namespace}/{name} cannot be read: {failure}") from failure
        try:
            return _decoded(namespace, name, msgspec.json.decode(raw, type=_Secret))
        except (binascii.Error, UnicodeDecodeError) as wrong:
            raise Failed(f"Secret {namespace}/{name} holds a value that is no text") from wrong


def _decoded(namespace: str, name: str, secret: _Secret) -> GateSecret:
    values = {
        key: base64.b64decode(value, validate=True).decode()
        for key, value in (secret.data or {}).items()
    }
    return GateSecret(namespace, name, values, secret.metadata.annotations.get(SEND_TO, ""))
