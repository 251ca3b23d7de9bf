"""The addresses to which a gate may send a request: an allow-list, and rules about the IP addresses of a name.

Why: tenants write addresses into Rollouts, and the controller can reach more addresses than they can (metadata
services, the API server, pods of others). Invariant: fails closed. An address is asked only when an entry of the
allow-list names it for the Rollout's namespace. Besides, no IP address that its name resolves to may be loopback,
link-local, multicast, unspecified or one of the API server's. The connection goes to the IP address that was
checked. An entry with a literal IP address is the administrator's own decision and allows exactly that address.
"""

import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping

import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from controller.errors import BadConfiguration

METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"})
"""Metadata services of clouds, as far as they are not link-local anyway."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}


class Refused(Exception):
    """The address may not be asked; the text says why and what to do."""


class Entry(msgspec.Struct, frozen=True):
    """One address that may be asked; `namespace` is empty if every namespace may."""

    scheme: str
    host: str
    port: int
    namespace: str = ""

    def admits(self, namespace: str, url: URL) -> bool:
        """This entry names the address, for this namespace."""
        if (
            self.namespace not in ("", namespace)
            or url.scheme != self.scheme
            or url.port != self.port
        ):
            return False
        host = (url.host or "").rstrip(".").lower()
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and not _is_address(host)
        return host == self.host


def api_server_addresses(server: str, environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The addresses of the API server: its host, and its Service inside the cluster."""
    found = (URL(server).host, environ.get("KUBERNETES_SERVICE_HOST"))
    return frozenset(host for host in found if host)


class AllowList:
    """The addresses that the administrator has named."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(entries)

    def refusal(self, namespace: str, url: URL) -> str:
        """Why the address may not be asked; empty if it may."""
        if url.scheme not in _PORTS or not url.host:
            return f"{url.origin() if url.absolute else url} is no address of the form http(s)://host[:port]"
        if url.user or url.password:
            return "an address must not hold a password: name a Secret under auth"
        if any(entry.admits(namespace, url) for entry in self.entries):
            return ""
        return (
            f"{url.origin()} is not among the addresses that gates of namespace {namespace} may ask: the administrator "
            "names them with --analysis-allow"
        )

    def trusts(self, name: str, address: str) -> bool:
        """The administrator has named exactly this IP address, so it is not checked further."""
        return name == address and self._names_literally(address)

    def _names_literally(self, host: str) -> bool:
        return any(entry.host == host.lower() and _is_address(entry.host) for entry in self.entries)


class Anywhere(AllowList):
    """Every address: for a person's own program, which reaches no more than that person does."""

    def refusal(self, namespace: str, url: URL) -> str:
        """Why this text is no address; empty if it is one."""
        if url.scheme not in _PORTS or not url.host:
            return f"{url} is no address of the form http(s)://host[:port]"
        return ""

    def trusts(self, name: str, address: str) -> bool:
        """Always: a name may resolve to any address."""
        return True


def parse_allowed(texts: Iterable[str], flag: str = "--analysis-allow") -> tuple[Entry, ...]:
    """Entries `[NAMESPACE=]http(s)://HOST[:PORT]`, HOST perhaps `*.example.com`. Raises `BadConfiguration`."""
    return tuple(_entry(text, flag) for text in texts)


def _entry(text: str, flag: str) -> Entry:
    before, equals, after = text.partition("=")
    namespace, address = (before, after) if equals and "://" not in before else ("", text)
    url = URL(address)
    if url.scheme not in _PORTS or not url.host or url.path not in ("", "/") or url.user:
        raise BadConfiguration(
            f"{flag}: {text!r} is not [NAMESPACE=]http(s)://HOST[:PORT]; HOST may be *.example.com"
        )
    return Entry(
        url.scheme, url.host.rstrip(".").lower(), url.port or _PORTS[url.scheme], namespace
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class CheckedResolver(AbstractResolver):
    """Resolves names as the system does, and refuses names with an address that no gate may ask."""

    def __init__(
        self, inner: AbstractResolver, allowed: AllowList, api_server: frozenset[str]
    ) -> None:
        self._inner = inner
        self._allowed = allowed
        self._api_server = api_server

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; raises `Refused` if one of them may not be asked."""
        found = await self._inner.resolve(host, port, family)
        for one in found:
            self.check(host, one["host"])
        return found

    def check(self, name: str, address: str) -> None:
        """Raise `Refused` if this IP address may not be asked."""
        if self._allowed.trusts(name, address):
            return
        if name in self._api_server:
            raise Refused(f"{name} is the API server, which no gate may ask")
        why = forbidden_place(address, self._api_server)
        if why:
            raise Refused(f"{name} resolves to {why}, which no gate may ask")

    async def close(self) -> None:
        """Close the resolver that this one wraps."""
        await self._inner.close()


def forbidden_place(address: str, api_server: frozenset[str]) -> str:
    """The class of an IP address that no name may resolve to; empty for an allowed address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        found = _inner(found) or found
    if str(found) in METADATA:
        return "a metadata service"
    if str(found) in api_server:
        return "the API server"
    if found.is_loopback or found.is_unspecified:
        return "this machine itself"
    if found.is_link_local:
        return "a link-local address"
    return "a multicast or reserved address" if found.is_multicast or found.is_reserved else ""


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address to which a connection to this address leads; a cluster without IPv4 reaches others by NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
