"""The addresses to which a gate may send a request: an allow-list, and rules about the IP addresses of a name.

Why: tenants write addresses into Rollouts, and the controller can reach more addresses than they can (metadata
services, the API server, pods of others). Invariant: fails closed. An address is asked only when an entry of the
allow-list names it for the Rollout's namespace. Besides, every IP address that its name resolves to must be global, or
private as those of pods and Services; it may not be a tunnel's, a metadata service's or one of the API server's. The
connection goes to the IP address that was checked. An entry with a literal IP address is the administrator's own
decision and allows exactly that address.
"""

import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping

import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from controller.errors import BadConfiguration
from controller.outbound.headers import refused_header

METADATA = tuple(
    map(
        ipaddress.ip_network,
        (
            *("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
            *("fd00:ec2::/32", "fd20:ce::/32", "fd00:42::/32", "fd00:c1::/32"),
        ),
    )
)
"""Services of clouds for their own machines: metadata, credentials, names. Those among the addresses that clusters use
cannot be known by their class; of IPv6 the cloud's whole network is known.
"""
_OF_CLUSTERS = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    )
)
"""Private addresses, which pods and Services have. Every other address that is not global is refused."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_TUNNELS = tuple(
    map(
        ipaddress.IPv6Network,
        ("2002::/16", "2001::/32", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96"),
    )
)
"""6to4, Teredo, NAT64 of a network's own, and old forms of IPv4 in IPv6: they lead to an address that is not seen."""
_SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
"""Not global, although Python's table (or a part of it that is older than they are) has them so."""
_PORTS = {"http": 80, "https": 443}


class Refused(Exception):
    """The address may not be asked; the text says why and what to do."""


class Entry(msgspec.Struct, frozen=True):
    """One address that may be asked; `namespace` is empty if every namespace may."""

    scheme: str
    host: str
    port: int
    namespace: str = ""
    posts: bool = False
    """Gates may also send a POST there, which may change something."""

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
    return frozenset(_canonical(host) for host in found if host)


def _canonical(host: str) -> str:
    """A host in its one spelling: an IPv6 address has many."""
    return str(ipaddress.ip_address(host)) if _is_address(host) else host.rstrip(".").lower()


class AllowList:
    """The addresses that the administrator has named."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(entries)

    def refusal(self, namespace: str, url: URL, *, posts: bool = False) -> str:
        """Why the address may not be asked, or not by a POST; empty if it may."""
        if url.scheme not in _PORTS or not url.host:
            return f"{url.origin() if url.absolute else url} is no address of the form http(s)://host[:port]"
        if url.user or url.password:
            return "an address must not hold a password: name a Secret under auth"
        admitting = [entry for entry in self.entries if entry.admits(namespace, url)]
        if any(entry.posts or not posts for entry in admitting):
            return ""
        if posts:
            return (
                f"{url.origin()} is not among the addresses to which gates of namespace {namespace} may send a POST: "
                "the administrator names them with --analysis-allow-post"
            )
        return (
            f"{url.origin()} is not among the addresses that gates of namespace {namespace} may ask: the administrator "
            "names them with --analysis-allow"
        )

    def refuses_header(self, name: str) -> bool:
        """Gates may not send this header."""
        return refused_header(name)

    def trusts(self, name: str, address: str) -> bool:
        """The administrator has named exactly this IP address, so it is not checked further."""
        return name == address and self._names_literally(address)

    def _names_literally(self, host: str) -> bool:
        return any(entry.host == host.lower() and _is_address(entry.host) for entry in self.entries)


class Anywhere(AllowList):
    """Every address: for a person's own program, which reaches no more than that person does."""

    def refusal(self, namespace: str, url: URL, *, posts: bool = False) -> str:
        """Why this text is no address; empty if it is one."""
        if url.scheme not in _PORTS or not url.host:
            return f"{url} is no address of the form http(s)://host[:port]"
        return ""

    def refuses_header(self, name: str) -> bool:
        """Never: it is the person's own request."""
        return False

    def trusts(self, name: str, address: str) -> bool:
        """Always: a name may resolve to any address."""
        return True


def parse_allowed(
    texts: Iterable[str], flag: str = "--analysis-allow", *, posts: bool = False
) -> tuple[Entry, ...]:
    """Entries `[NAMESPACE=]http(s)://HOST[:PORT]`, HOST perhaps `*.example.com`. Raises `BadConfiguration`."""
    return tuple(_entry(text, flag, posts=posts) for text in texts)


def _entry(text: str, flag: str, *, posts: bool) -> Entry:
    before, equals, after = text.partition("=")
    namespace, address = (before, after) if equals and "://" not in before else ("", text)
    url = URL(address)
    if url.scheme not in _PORTS or not url.host or url.path not in ("", "/") or url.user:
        raise BadConfiguration(
            f"{flag}: {text!r} is not [NAMESPACE=]http(s)://HOST[:PORT]; HOST may be *.example.com"
        )
    host, port = url.host.rstrip(".").lower(), url.port or _PORTS[url.scheme]
    return Entry(url.scheme, host, port, namespace, posts)


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
        if _canonical(name) in self._api_server:
            raise Refused(f"{name} is the API server, which no gate may ask")
        why = forbidden_place(address, self._api_server)
        if why:
            raise Refused(f"{name} resolves to {why}, which no gate may ask")

    async def close(self) -> None:
        """Close the resolver that this one wraps."""
        await self._inner.close()


def forbidden_place(address: str, api_server: frozenset[str]) -> str:
    """The class of an IP address that no name may resolve to; empty for an allowed address."""
    found: ipaddress.IPv4Address | ipaddress.IPv6Address
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "an address in a short or an old form"
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found
    translated = _behind_nat64(found)
    found = translated or found
    if any(found in network for network in METADATA):
        return "a metadata service"
    if str(found) in api_server:
        return "the API server"
    if found.is_loopback or found.is_unspecified:
        return "this machine itself"
    if found.is_link_local:
        return "a link-local address"
    return _class_of(found, translated=translated is not None)


def _class_of(found: ipaddress.IPv4Address | ipaddress.IPv6Address, *, translated: bool) -> str:
    """The class of an address that leads to no public server and to no pod or Service; empty for any other."""
    if isinstance(found, ipaddress.IPv6Address):
        if any(found in tunnel for tunnel in _TUNNELS):
            return "an address of a tunnel"
        if found.is_site_local:
            return "a site-local address"
    if found.is_multicast or found.is_reserved:
        return "a multicast or reserved address"
    if any(found in network for network in _OF_CLUSTERS):
        return "a private address behind a translator" if translated else ""
    special = not found.is_global or any(found in network for network in _SPECIAL)
    return "an address for a special purpose" if special else ""


def _behind_nat64(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | None:
    """The IPv4 address to which a connection leads; a cluster without IPv4 reaches others by NAT64."""
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
