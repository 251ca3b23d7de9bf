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


class SecretObject(msgspec.Struct, frozen=True, rename="camel"):
    """A Secret as the API server has it, or as a person writes it."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
    string_data: dict[str, str] | None = None


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
            return secret_of(namespace, msgspec.json.decode(raw, type=SecretObject))
        except (binascii.Error, UnicodeDecodeError) as wrong:
            raise Failed(f"Secret {namespace}/{name} holds a value that is no text") from wrong


def secret_of(namespace: str, secret: SecretObject) -> GateSecret:
    """Its values as text. Raises ValueError for one that is none."""
    values = {
        key: base64.b64decode(value, validate=True).decode()
        for key, value in (secret.data or {}).items()
    }
    values |= secret.string_data or {}
    send_to = secret.metadata.annotations.get(SEND_TO, "")
    return GateSecret(namespace, secret.metadata.name, values, send_to)
