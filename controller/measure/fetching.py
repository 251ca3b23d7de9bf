"""One HTTP request of a gate: bounded in time and size, to an allowed address, without following redirects.

Invariant: the answer never reaches a status or an Event, but for numbers and a Prometheus' own words about the query. A
gate must not become a way to read pages that its author cannot reach. A request that could not connect is tried once
more. The turns, threads and memory of a namespace are its own, and a wait for a turn counts against
the time of the one who waits.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote
from weakref import WeakValueDictionary

import aiohttp
import msgspec
from yarl import URL

from controller.api.analysis import Header, SecretKey, SecretRef
from controller.api.decoding import decoded
from controller.domain.gates.in_query import in_query
from controller.domain.gates.origins import Unplaced
from controller.domain.gates.secret_places import pieces_with_values, secrets_of, with_values
from controller.measure.egress import AllowList, CheckedResolver, Refused
from controller.measure.names import ASKER, Names
from controller.measure.tokens import LONGEST, Tokens

MAX_BYTES = 1024 * 1024
MAX_AT_ONCE = 16
"""Requests under way, beside the one that every namespace may always have."""
MAX_OF_NAMESPACE = 4
"""Requests of one namespace under way: sources that hang must not delay the gates of others."""
_HIDDEN = "\0"
USER_AGENT = "moonshift-controller"
UNAUTHORIZED = 401
Form = tuple[tuple[str, str], ...]


class Failed(Exception):
    """There is no answer; the text says why, in words for the Rollout's owner."""


class Request(msgspec.Struct, frozen=True):
    """One request; equal requests at the same time are sent once."""

    namespace: str
    url: str
    form: Form = ()
    headers: tuple[Header, ...] = ()
    auth: SecretRef | None = None
    timeout_seconds: int = 10


def texts_of(request: Request) -> tuple[str, ...]:
    """The parts of a request that may contain a Secret's value."""
    values = (*(text for _, text in request.form), *(header.value for header in request.headers))
    return (request.url, *values)


class Secrets(Protocol):
    """Reads Secrets of a Rollout's namespace."""

    async def read(self, namespace: str, name: str) -> Mapping[str, str]:
        """The Secret's values as text. Raises `Failed` if it cannot be read."""
        ...


class _Share:
    """The turns of one namespace."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(MAX_OF_NAMESPACE)
        self.own = asyncio.Semaphore(1)


class Fetching:
    """Requests of gates, over one pool of connections."""

    def __init__(
        self, allowed: AllowList, secrets: Secrets, api_server: frozenset[str] = frozenset()
    ) -> None:
        self._allowed = allowed
        self._secrets = secrets
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._shares: WeakValueDictionary[str, _Share] = WeakValueDictionary()
        self._resolver = CheckedResolver(Names(), allowed, api_server)
        self._connector = aiohttp.TCPConnector(
            resolver=self._resolver, use_dns_cache=False, limit=0
        )
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # Never compressed: a small answer could unpack to more than is allowed.
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        self._tokens = Tokens()

    async def aclose(self) -> None:
        """Close the pool of connections."""
        await self._session.close()
        await self._resolver.close()

    async def fetch(self, request: Request) -> bytes:
        """The body of the answer. Raises `Failed`."""
        share = self._shares.setdefault(request.namespace, _Share())
        ASKER.set(request.namespace)
        try:
            async with asyncio.timeout(request.timeout_seconds), share.turns, self._turn(share):
                return await self._fetch(request)
        except TimeoutError as error:
            raise Failed(
                f"no answer within {request.timeout_seconds} s from {_origin(request.url)}"
            ) from error

    def _turn(self, share: _Share) -> asyncio.Semaphore:
        """One request of each namespace needs no turn among the requests of all."""
        return self._slots if share.own.locked() else share.own

    async def _fetch(self, request: Request) -> bytes:
        request = await self._with_secrets(request)
        url = self._checked(request)
        secret = await self._secret(request)
        headers = {header.name: header.value for header in request.headers}
        for name in filter(self._allowed.refuses_header, headers):
            raise Failed(
                f"a gate may not send the header {name}, which says where a request goes or how it is read"
            )
        headers |= await self._authorization(request, secret)
        try:
            return await self._sent_twice(url, request.form, headers, secret)
        except Status as refused:
            if refused.status == UNAUTHORIZED:
                # The token may have been taken back before its end.
                self._tokens.drop(_token_request(request, secret))
            raise

    async def _sent_twice(
        self, url: URL, form: Form, headers: dict[str, str], secret: Mapping[str, str]
    ) -> bytes:
        try:
            return await self._sent(url, form, headers, secret)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
            try:
                return await self._sent(url, form, headers, secret)
            except aiohttp.ClientError as again:
                raise Failed(f"no connection to {url.origin()}: {type(again).__name__}") from again
        except aiohttp.ClientError as error:
            raise Failed(f"{url.origin()} answered something that is no HTTP") from error

    async def _sent(
        self, url: URL, form: Form, headers: dict[str, str], secret: Mapping[str, str]
    ) -> bytes:
        try:
            async with self._session.request(
                "POST" if form else "GET",
                url,
                data=list(form) or None,
                headers=headers,
                ssl=_tls(secret),
                allow_redirects=False,
            ) as answer:
                return await _body(answer, url)
        except Refused as refused:
            raise Failed(str(refused)) from refused
        except aiohttp.ClientConnectorCertificateError as error:
            raise Failed(
                f"the certificate of {url.origin()} is not trusted: name the Secret with its ca.crt under auth"
            ) from error
        except (ValueError, aiohttp.InvalidURL) as error:
            raise Failed(f"{url.origin()} cannot be asked: {type(error).__name__}") from error

    async def _with_secrets(self, request: Request) -> Request:
        """The request with the values of Secrets in their places."""
        wanted = secrets_of(texts_of(request))
        if not wanted:
            return request
        scheme, _, rest = with_values(request.url, dict.fromkeys(wanted, _HIDDEN)).partition("://")
        if _HIDDEN in scheme + re.split(r"[/?#\\]", rest)[0]:
            raise Failed("a Secret may not say which address is asked")
        values = {one: await self._value(request.namespace, one) for one in wanted}
        in_url = {one: quote(value, safe="") for one, value in values.items()}
        return msgspec.structs.replace(
            request,
            url=with_values(request.url, in_url),
            form=tuple((name, _in_form(name, text, values)) for name, text in request.form),
            headers=tuple(
                Header(header.name, with_values(header.value, values)) for header in request.headers
            ),
        )

    async def _value(self, namespace: str, wanted: SecretKey) -> str:
        found = await self._secrets.read(namespace, wanted.name)
        if wanted.key not in found:
            raise Failed(f"Secret {namespace}/{wanted.name} has no {wanted.key}")
        return found[wanted.key].strip()

    def _checked(self, request: Request) -> URL:
        try:
            url = URL(request.url)
        except ValueError as error:
            raise Failed("an address that is no URL cannot be asked") from error
        refusal = self._allowed.refusal(request.namespace, url)
        if refusal:
            raise Failed(refusal)
        try:
            if url.host is not None and _is_literal(url.host):
                self._resolver.check(url.host, url.host)
        except Refused as refused:
            raise Failed(str(refused)) from refused
        return url

    async def _secret(self, request: Request) -> Mapping[str, str]:
        if request.auth is None or not request.auth.name:
            return {}
        return await self._secrets.read(request.namespace, request.auth.name)

    async def _authorization(self, request: Request, secret: Mapping[str, str]) -> dict[str, str]:
        if token := secret.get("token"):
            return {"Authorization": f"Bearer {token.strip()}"}
        if secret.get("username"):
            basic = aiohttp.encode_basic_auth(secret["username"], secret.get("password", ""))
            return {"Authorization": basic}
        if secret.get("tokenURL"):
            return {"Authorization": f"Bearer {await self._access_token(request, secret)}"}
        return {}

    async def _access_token(self, request: Request, secret: Mapping[str, str]) -> str:
        """An access token by OAuth2 client credentials, used until shortly before it expires."""
        asked = _token_request(request, secret)
        now = asyncio.get_running_loop().time()
        known = self._tokens.get(asked, now)
        if known is not None:
            return known
        url = self._checked(asked)
        body = await self._sent_twice(url, asked.form, {}, secret)
        try:
            granted = decoded(body, _Token)
        except msgspec.DecodeError as error:
            raise Failed(f"{url.origin()} answered no access token") from error
        token = granted.access_token
        if len(token) > LONGEST:
            raise Failed(
                f"{url.origin()} answered an access token of more than {LONGEST} characters"
            )
        self._tokens.keep(asked, request.namespace, token, granted.expires_in, now)
        return token


def _in_form(name: str, text: str, values: Mapping[SecretKey, str]) -> str:
    """A field of a form with the values of Secrets; PromQL is the only language among them. Raises `Failed`."""
    if name != "query":
        return with_values(text, values)
    made = in_query(pieces_with_values(text, values))
    if isinstance(made, Unplaced):
        raise Failed(f"the value of {{{{ {made.name} }}}} may not stand in the query: {made.why}")
    return made


def _token_request(request: Request, secret: Mapping[str, str]) -> Request:
    """The request for an access token; equal for all requests that the token is for."""
    return Request(
        request.namespace,
        secret.get("tokenURL", ""),
        form=(
            ("grant_type", "client_credentials"),
            ("client_id", secret.get("clientID", "")),
            ("client_secret", secret.get("clientSecret", "")),
            *((("scope", secret["scope"]),) if secret.get("scope") else ()),
        ),
        timeout_seconds=request.timeout_seconds,
    )


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = 60


async def _body(answer: aiohttp.ClientResponse, url: URL) -> bytes:
    """The body of a successful answer; of any other answer only the status."""
    if 300 <= answer.status < 400:
        raise Failed(
            f"{url.origin()} answered with a redirect ({answer.status}), which is not followed"
        )
    body = bytearray()
    async for part in answer.content.iter_chunked(65536):
        body += part
        if len(body) > MAX_BYTES:
            answer.close()
            raise Failed(f"{url.origin()} answered more than {MAX_BYTES // 1024} KiB")
    if answer.status >= 400:
        raise Status(
            answer.status, bytes(body), f"{url.origin()} answered with status {answer.status}"
        )
    return bytes(body)


class Status(Failed):
    """The server answered with a failure; only code that knows the format may show the body."""

    def __init__(self, status: int, body: bytes, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.body = body


def _origin(url: str) -> str:
    try:
        return str(URL(url).origin())
    except ValueError:
        return "the address"


def _is_literal(host: str) -> bool:
    return host.replace(".", "").isdigit() or ":" in host


def _tls(secret: Mapping[str, str]) -> ssl.SSLContext | bool:
    """The system's authorities, and the Secret's own on top."""
    authority = secret.get("ca.crt")
    if not authority:
        return True
    try:
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=authority)
    except ssl.SSLError as error:
        raise Failed("ca.crt of the Secret holds no certificate") from error
    return context
