"""A connection to the worker: the address, the credentials, one gRPC channel.

Invariant: a connection is never repaired but replaced: a new one resolves the name again, reads the certificates again
and connects at once, while an old one would wait for its back-off. Two connections share nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import grpc
import grpc.aio

from controller.errors import BadConfiguration
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc

_SCHEMES = ("unix:", "dns:", "ipv4:", "ipv6:")
_FILES = ("ca.crt", "tls.crt", "tls.key")
_MEGABYTE = 1024 * 1024
_OPTIONS: Sequence[tuple[str, int | str]] = (
    ("grpc.service_config", '{"loadBalancingConfig":[{"round_robin":{}}]}'),
    # We repeat calls ourselves: the repeat must reach another worker, and be counted.
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", 9 * _MEGABYTE),
    ("grpc.max_send_message_length", 10 * _MEGABYTE),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # A peer whose machine vanished sends no reset: without a ping, calls would hang until their deadline.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)


class Address:
    """The checked address of the worker."""

    def __init__(self, target: str, tls_dir: str = "") -> None:
        if not target.startswith(_SCHEMES):
            raise BadConfiguration(
                f"--lua-worker {target!r}: expected unix:///PATH or dns:///HOST:PORT"
            )
        self.target = target
        self._tls_dir = Path(tls_dir) if tls_dir else None
        if self._tls_dir is not None:
            self._credentials(self._tls_dir)

    def _credentials(self, folder: Path) -> grpc.ChannelCredentials:
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            raise BadConfiguration(f"--lua-worker-tls-dir {folder}: {', '.join(missing)} missing")
        authority, certificate, key = ((folder / name).read_bytes() for name in _FILES)
        return grpc.ssl_channel_credentials(authority, key, certificate)

    def channel(self) -> grpc.aio.Channel:
        """A new channel; it connects with its first call."""
        if self._tls_dir is None:
            return grpc.aio.insecure_channel(self.target, options=_OPTIONS)
        credentials = self._credentials(self._tls_dir)
        return grpc.aio.secure_channel(self.target, credentials, options=_OPTIONS)


class Connection:
    """One channel and its stub."""

    def __init__(self, address: Address) -> None:
        self._channel = address.channel()
        self.stub = pb_grpc.LuaExecutorStub(self._channel)

    async def close(self, grace: float | None = None) -> None:
        """Calls that still run may finish within the grace."""
        await self._channel.close(grace)
