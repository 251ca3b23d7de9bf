"""How one process reaches its API server: address, TLS, proxy, and the headers with the user.

Invariants: every setting of a kubeconfig is honoured, or refused in words, never ignored in silence (a person who
impersonates a reader must not act as the administrator in the kubeconfig). Nothing here opens a connection.
"""

import base64
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from controller.errors import BadConfiguration
from controller.kube.credentials import Impersonation, Source, Token
from controller.kube.kubeconfig import DEFAULT_NAMESPACE, Chosen, Cluster, User, choose, read
from controller.kube.login import Credentials, log_in
from controller.kube.tls import bytes_of, tls_context

PROXIES = ("http", "https")
_LEGAL = "!#$&'*+^`|"
Headers = tuple[tuple[str, str], ...]


class Access(msgspec.Struct, frozen=True):
    """All that a transport has to know; `headers` go with every request.

    `verify_anew` reads the files of `verify` again: a cluster's authority may be replaced while this process runs.
    """

    server: str = ""
    token: Token = msgspec.field(default_factory=Token)
    verify: ssl.SSLContext | bool = False
    verify_anew: Callable[[], ssl.SSLContext] | None = None
    server_name: str = ""
    proxy: str = ""
    headers: Headers = ()
    namespace: str = DEFAULT_NAMESPACE


async def access_of(source: Source) -> Access:
    """Read the files that a person's source names. Raises BadConfiguration with the reason."""
    if source.url:
        return Access(source.url, headers=_impersonating(source.impersonation))
    chosen = choose(read(source.kubeconfig), source.context, source.cluster, source.user)
    return await _of_kubeconfig(chosen, source)


def access_in_cluster(source: Source, server: str, authority: str) -> Access:
    """The pod's account: the kubelet renews its token file, and a cluster may replace its authority."""
    trusted = Cluster(certificate_authority=authority)
    return Access(
        server=server,
        token=Token(path=str(Path(source.service_account, "token"))),
        verify=tls_context(trusted, User()),
        verify_anew=lambda: tls_context(trusted, User()),
        headers=_impersonating(source.impersonation),
    )


async def _of_kubeconfig(chosen: Chosen, source: Source) -> Access:
    cluster = chosen.cluster
    token, user = await _token(cluster, chosen.user)
    server = _address(cluster, user)
    basic = () if token.current() else _basic(user)
    secure = server.startswith("https:")
    return Access(
        server=server,
        token=token,
        verify=tls_context(cluster, user) if secure else False,
        verify_anew=(lambda: tls_context(cluster, user)) if secure else None,
        server_name=cluster.tls_server_name,
        proxy=_proxy(cluster.proxy_url or _proxy_of_environment(server, source)),
        headers=(*basic, *_impersonating(_merged(user, source.impersonation))),
        namespace=chosen.namespace,
    )


def _address(cluster: Cluster, user: User) -> str:
    if not cluster.server:
        raise BadConfiguration("the kubeconfig's cluster has no server")
    if "://" in cluster.server:
        return cluster.server
    secured = (
        cluster.certificate_authority
        or cluster.certificate_authority_data
        or cluster.insecure_skip_tls_verify
        or user.client_certificate_data
        or user.client_certificate
    )
    return f"{'https' if secured else 'http'}://{cluster.server}"


# --- the user ---------------------------------------------------------------------------------


async def _token(cluster: Cluster, user: User) -> tuple[Token, User]:
    """The bearer token, and the user with the certificate that its log-in program gave."""
    if user.token or user.token_file:
        if user.token_file and not user.token:
            bytes_of("tokenFile", user.token_file)
        return Token(user.token, user.token_file), user
    if user.auth_provider is not None:
        return Token(_id_token(user)), user
    if user.exec is None:
        return Token(), user
    program = user.exec
    first = await log_in(program, cluster)

    async def again() -> str:
        return (await log_in(program, cluster)).token

    return Token(first.token, renew=again if first.token else None), _with(user, first)


def _with(user: User, found: Credentials) -> User:
    if not found.client_certificate_data:
        return user
    return msgspec.structs.replace(
        user,
        client_certificate_data=base64.b64encode(found.client_certificate_data.encode()).decode(),
        client_key_data=base64.b64encode(found.client_key_data.encode()).decode(),
    )


def _id_token(user: User) -> str:
    assert user.auth_provider is not None
    found = user.auth_provider.config.get("id-token", "")
    if user.auth_provider.name != "oidc" or not found:
        raise BadConfiguration(
            f"the kubeconfig logs in by the auth-provider {user.auth_provider.name or '(no name)'}, which is not known "
            "here: use a log-in program (users[].user.exec)"
        )
    return found


def _basic(user: User) -> Headers:
    if not user.username and not user.password:
        return ()
    pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
    return (("Authorization", f"Basic {pair}"),)


def _merged(user: User, asked: Impersonation) -> Impersonation:
    """Each value of the command line replaces the value of the file."""
    return Impersonation(
        user=asked.user or user.impersonate,
        uid=asked.uid or user.as_uid,
        groups=asked.groups or user.as_groups,
        extra=asked.extra or tuple(user.as_user_extra.items()),
    )


def _impersonating(whom: Impersonation) -> Headers:
    if not whom.user:
        if whom.uid or whom.groups or whom.extra:
            raise BadConfiguration(
                "groups, a uid or extra fields are to be impersonated, but no user: give --as, or `as` in the "
                "kubeconfig"
            )
        return ()
    return tuple(_impersonation_headers(whom))


def _impersonation_headers(whom: Impersonation) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", whom.user
    if whom.uid:
        yield "Impersonate-Uid", whom.uid
    for group in whom.groups:
        yield "Impersonate-Group", group
    for key, values in whom.extra:
        for value in values:
            # the key is part of a header's name: client-go escapes characters that a header's name must not contain
            yield f"Impersonate-Extra-{quote(key, safe=_LEGAL)}", value


# --- the way there ------------------------------------------------------------------------------


def _proxy(address: str) -> str:
    if address and urlsplit(address).scheme not in PROXIES:
        raise BadConfiguration(
            f"proxy-url {_without_password(address)}: only {' and '.join(PROXIES)} proxies are known here"
        )
    return address


def _without_password(address: str) -> str:
    scheme, there, rest = address.partition("://")
    return f"{scheme}{there}{rest.rpartition('@')[2]}"


def _proxy_of_environment(server: str, source: Source) -> str:
    """The proxy of HTTPS_PROXY and similar variables: commands use it, as kubectl does; a controller in a pod does
    not."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if not source.for_a_person or host == "localhost" or host.startswith("127.") or host == "::1":
        return ""
    if urllib.request.proxy_bypass(host):
        return ""
    found = urllib.request.getproxies_environment().get(parts.scheme, "")
    return found if "://" in found or not found else f"http://{found}"
