"""One HTTP request of a gate: bounded in time and size, to an allowed address, without following redirects.

Invariant: the answer never reaches a status or an Event, but for numbers and a Prometheus' own words about the query;
not even those where they repeat a Secret. A gate must not become a way to read pages that its author cannot reach. A
value of a Secret is sent only to a host that the Secret names. A request that could not connect is tried once more.
The turns, threads and memory of a namespace are its own, and a wait for a turn counts against the time of the request
that waits.
"""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

import aiohttp
import msgspec
from yarl import URL

from controller.api.analysis import SecretKey
from controller.api.decoding import decoded
from controller.domain.exchange.request import Signature
from controller.domain.gates.in_body import CONTENT_TYPE, JSON
from controller.domain.gates.secret_destinations import GateSecret
from controller.domain.gates.secret_places import secrets_of
from controller.outbound.confidential import (
    LONGEST_TEXTS,
    Answered,
    Headers,
    confidential_of,
    repeated_in_answer,
    repeated_in_refusal,
    scrubbed_answer,
)
from controller.outbound.dns import ASKER, Names
from controller.outbound.egress import AllowList, CheckedResolver, Refused
from controller.outbound.request import (
    SECRET_IN_ADDRESS,
    in_body_of,
    texts_of,
    with_values_of,
    without_values,
)
from controller.outbound.request import Failed as Failed
from controller.outbound.request import Request as Request
from controller.outbound.signing import (
    GRANT,
    Signed,
    account_of,
    assertion,
    signature,
    values_to_hide,
    written_out,
)
from controller.outbound.tokens import LONGEST, Tokens

MAX_BYTES = 1024 * 1024
MAX_BYTES_OF_REFUSAL = 16 * 1024
"""A longer refusal counts without its words, which would not be shown as a whole anyway."""
MAX_AT_ONCE = 16
"""Requests under way, beside the one that every namespace may always have."""
MAX_OF_NAMESPACE = 4
"""Requests of one namespace under way: sources that hang must not delay the gates of others."""
_PROOFS = ("token", "username", "tokenURL")
"""Keys of a Secret, each of which alone says how a request is authorized."""
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_SCHEME = re.compile(r"bearer\s", re.IGNORECASE)
USER_AGENT = "moonshift-controller"
UNAUTHORIZED = 401
REPEATS = "repeats a value of a Secret in its answer"
T = TypeVar("T")
Used = Mapping[str, GateSecret]
"""The Secrets of one request, by name."""


class _Ready(msgspec.Struct, frozen=True):
    """A request with the values of Secrets: all that is sent, and the texts that no answer may show."""

    url: URL
    request: Request
    headers: dict[str, str]
    secret: Mapping[str, str]
    confidential: tuple[str, ...]


class Secrets(Protocol):
    """Reads Secrets of a Rollout's namespace."""

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The Secret, with its values as text. Raises `Failed` if it cannot be read."""
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
        return await self._in_turn(request, self._fetch)

    async def answered(self, request: Request, confidential: set[str]) -> Answered:
        """The answer whatever its status, without the values of Secrets, which are added to `confidential`. Raises
        `Failed` if there is no answer.
        """
        return await self._in_turn(request, partial(self._answered, confidential))

    async def _in_turn(self, request: Request, work: Callable[[Request], Awaitable[T]]) -> T:
        share = self._shares.setdefault(request.namespace, _Share())
        ASKER.set(request.namespace)
        try:
            async with asyncio.timeout(request.timeout_seconds), share.turns, self._turn(share):
                return await work(request)
        except TimeoutError as error:
            raise Failed(
                f"no answer within {request.timeout_seconds:g} s from {_origin(request.url)}"
            ) from error

    def _turn(self, share: _Share) -> asyncio.Semaphore:
        """One request of each namespace needs no turn among the requests of all."""
        return self._slots if share.own.locked() else share.own

    async def _fetch(self, request: Request) -> bytes:
        ready = await self._ready(request)
        try:
            answer = await self._sent_twice(ready)
        except Status as refused:
            if refused.status == UNAUTHORIZED:
                # The token may have been taken back before its end.
                self._tokens.drop(_token_request(ready.request, ready.secret))
            if repeated_in_refusal(refused.body, ready.confidential):
                raise Status(refused.status, b"", str(refused)) from None
            raise
        if repeated_in_answer(answer.body, ready.confidential):
            raise Failed(f"{ready.url.origin()} {REPEATS}")
        return answer.body

    async def _answered(self, sent: set[str], request: Request) -> Answered:
        ready = await self._ready(request)
        sent.update(ready.confidential)
        try:
            found = await self._sent_twice(ready)
        except Status as refused:
            found = Answered(refused.status, refused.headers, refused.body)
        answer = scrubbed_answer(found, sent)
        if repeated_in_answer(answer.body, sent):
            raise Failed(f"{ready.url.origin()} {REPEATS}")
        return answer

    async def _ready(self, request: Request) -> _Ready:
        """The request with the values of Secrets, if they may be sent to its address."""
        place = self._checked(without_values(request))
        used = await self._secrets_of(request)
        for one in used.values():
            _sent_to(one, place)
        filled_in = _values_in_texts(request, used)
        request = with_values_of(request, filled_in)
        request = request if request.signing is None else written_out(request)
        url = self._checked(request)
        if url.origin() != place.origin():
            raise Failed(SECRET_IN_ADDRESS)
        auth = used.get(request.auth.name) if request.auth is not None else None
        secret = auth.values if auth is not None else {}
        headers = self._headers_of(request)
        authorization = await self._authorization(request, auth) if auth is not None else {}
        if request.basic is not None:
            authorization |= _basic("the user of basic", request.basic)
        authorization |= await self._signature(request, url, headers, used)
        shown = values_to_hide(request, filled_in)
        sent = (*shown, *map(in_body_of(request), shown))
        confidential = confidential_of(secret, sent, authorization.get("Authorization", ""))
        if sum(map(len, confidential)) > LONGEST_TEXTS:
            raise Failed(
                f"values of Secrets with more than {LONGEST_TEXTS} characters are not sent: name a shorter one"
            )
        headers = _with(headers, authorization)
        if broken := next((name for name, text in headers.items() if _CONTROL.search(text)), None):
            raise Failed(
                f"the value of the header {broken} has a line break or a control character within, which cannot be sent"
            )
        return _Ready(url, request, headers, secret, confidential)

    def _headers_of(self, request: Request) -> dict[str, str]:
        """The headers of the gate; a body has a type, which is JSON unless the gate says another."""
        headers = {header.name: header.value for header in request.headers}
        own_type = {name for name in headers if request.body and name.lower() == CONTENT_TYPE}
        if len(own_type) > 1:
            raise Failed(f"a gate sends one Content-Type, and this one has {len(own_type)}")
        for name in filter(self._allowed.refuses_header, headers):
            if name in own_type:
                continue
            raise Failed(
                f"a gate may not send the header {name!r}, which says where a request goes or how it is read"
            )
        return headers if own_type or not request.body else {**headers, "Content-Type": JSON}

    async def _sent_twice(self, ready: _Ready) -> Answered:
        """The answer; a request that changes something is not repeated once it may have arrived."""
        url = ready.url
        try:
            return await self._sent(ready)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            lost = not isinstance(error, aiohttp.ClientConnectorError)
            if lost and ready.request.sent_once:
                raise Failed(f"no answer from {url.origin()}: {type(error).__name__}") from error
            try:
                return await self._sent(ready)
            except aiohttp.ClientError as again:
                raise Failed(f"no connection to {url.origin()}: {type(again).__name__}") from again
        except aiohttp.ClientError as error:
            raise Failed(f"{url.origin()} answered something that is no HTTP") from error

    async def _sent(self, ready: _Ready) -> Answered:
        url, request = ready.url, ready.request
        try:
            async with self._session.request(
                request.sent_by,
                url,
                data=request.content,
                headers=ready.headers,
                ssl=_tls(ready.secret),
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

    async def _secrets_of(self, request: Request) -> Used:
        """Every Secret that the request names, each read once, without the line ends behind its values."""
        names = dict.fromkeys(one.name for one in secrets_of(texts_of(request)))
        if request.auth is not None and request.auth.name:
            names[request.auth.name] = None
        return {
            name: (await self._secrets.read(request.namespace, name)).without_line_ends()
            for name in names
        }

    def _checked(self, request: Request) -> URL:
        try:
            url = URL(request.url)
            # A name in the form `xn--…` is decoded here, and may be none.
            host = url.host
        except ValueError as error:
            raise Failed("an address that is no URL cannot be asked") from error
        refusal = self._allowed.refusal(request.namespace, url, posts=request.changes)
        if refusal:
            raise Failed(refusal)
        try:
            if host is not None and _is_literal(host):
                self._resolver.check(host, host)
        except Refused as refused:
            raise Failed(str(refused)) from refused
        return url

    async def _authorization(self, request: Request, auth: GateSecret) -> dict[str, str]:
        secret = auth.values
        if token := secret.get("token", "").strip():
            if _SCHEME.match(token):
                raise Failed(
                    f"the token of {auth} begins with Bearer, which is put before it: leave the word out"
                )
            return {"Authorization": f"Bearer {token}"}
        if secret.get("username"):
            whose = f"the username of {auth}"
            return _basic(whose, (secret["username"], secret.get("password", "")))
        if secret.get("tokenURL"):
            return {"Authorization": f"Bearer {await self._access_token(request, auth)}"}
        if empty := next((key for key in _PROOFS if key in secret), None):
            raise Failed(f"the {empty} of {auth} is empty")
        return {}

    async def _access_token(self, request: Request, auth: GateSecret) -> str:
        """An access token by OAuth2 client credentials, used until shortly before it expires."""
        secret = auth.values
        asked = _token_request(request, secret)
        now = asyncio.get_running_loop().time()
        known = self._tokens.get(asked, now)
        if known is not None:
            return known
        return await self._granted(auth, asked, asked)

    async def _signature(
        self, request: Request, url: URL, headers: Mapping[str, str], used: Used
    ) -> dict[str, str]:
        """The headers that sign a request of a script; none if it is not signed."""
        how = request.signing
        if how is None:
            return {}
        keys = {name: used[key.name].values[key.key].strip() for name, key in how.keys}
        asked = Signed(request.sent_by, url, headers, request.body.encode())
        if how.by is not Signature.GOOGLE:
            found = signature(asked, how, keys)
            if refused := next(filter(self._allowed.refuses_header, found), None):
                raise Failed(
                    f"a signature may not be the header {refused!r}: name another after --@sign hmac"
                )
            return found
        return {"Authorization": f"Bearer {await self._token_of_google(request, keys, used)}"}

    async def _token_of_google(self, request: Request, keys: Mapping[str, str], used: Used) -> str:
        """A token for the service account of a script, used until shortly before it expires."""
        how, file = request.signing, keys["serviceAccount"]
        assert how is not None
        account = account_of(file)
        known_by = ("google", request.namespace, file, how.service)
        known = self._tokens.get(known_by, asyncio.get_running_loop().time())
        if known is not None:
            return known
        proof = assertion(account, how.service, how.at)
        asked = Request(
            request.namespace,
            account.token_uri,
            form=(("grant_type", GRANT), ("assertion", proof)),
            timeout_seconds=request.timeout_seconds,
        )
        return await self._granted(used[dict(how.keys)["serviceAccount"].name], asked, known_by)

    async def _granted(self, auth: GateSecret, asked: Request, known_by: object) -> str:
        """The token that a server of tokens answers; it has to be allowed, and named by the Secret."""
        now = asyncio.get_running_loop().time()
        url = self._checked(asked)
        _sent_to(auth, url)
        tls = {name: text for name, text in auth.values.items() if name == "ca.crt"}
        answer = await self._sent_twice(_Ready(url, asked, {}, tls, ()))
        try:
            granted = decoded(answer.body, _Token)
        except msgspec.DecodeError as error:
            raise Failed(f"{url.origin()} answered no access token") from error
        token = granted.access_token
        if not token:
            raise Failed(f"{url.origin()} answered an empty access token")
        if len(token) > LONGEST:
            raise Failed(
                f"{url.origin()} answered an access token of more than {LONGEST} characters"
            )
        self._tokens.keep(known_by, asked.namespace, token, granted.expires_in, now)
        return token


def _with(headers: Mapping[str, str], authorization: Mapping[str, str]) -> dict[str, str]:
    """The headers; the one of a Secret takes the place of one of the same name, in any spelling."""
    ours = {name.lower() for name in authorization}
    return {name: text for name, text in headers.items() if name.lower() not in ours} | {
        **authorization
    }


def _values_in_texts(request: Request, used: Used) -> dict[SecretKey, str]:
    """The value of each place in the request's texts. Raises `Failed` if a Secret has no such value."""
    found = {}
    for one in secrets_of(texts_of(request)):
        secret = used[one.name]
        if one.key not in secret.values:
            raise Failed(f"Secret {request.namespace}/{one.name} has no {one.key}")
        found[one] = secret.values[one.key].strip()
    return found


def _basic(whose: str, user_and_password: tuple[str, str]) -> dict[str, str]:
    """The header of Basic authentication. Raises `Failed` without a part of the two."""
    if ":" in user_and_password[0]:
        raise Failed(
            f"{whose} has a colon, which Basic authentication cannot send: a server takes what stands before the "
            "first colon as the user"
        )
    return {"Authorization": aiohttp.encode_basic_auth(*user_and_password)}


def _sent_to(secret: GateSecret, url: URL) -> None:
    """Raise `Failed` unless the Secret names the host of `url`."""
    refusal = secret.refusal(url.host or "", url.port)
    if refusal:
        raise Failed(refusal)


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


async def _body(answer: aiohttp.ClientResponse, url: URL) -> Answered:
    """A successful answer. Raises `Status` for a refusal."""
    if 300 <= answer.status < 400:
        raise Failed(
            f"{url.origin()} answered with a redirect ({answer.status}), which is not followed"
        )
    most = MAX_BYTES if answer.status < 400 else MAX_BYTES_OF_REFUSAL
    body = bytearray()
    async for part in answer.content.iter_chunked(65536):
        body += part
        if len(body) > most:
            answer.close()
            if answer.status >= 400:
                raise _refusal(answer, b"", url)
            raise Failed(f"{url.origin()} answered more than {MAX_BYTES // 1024} KiB")
    if answer.status >= 400:
        raise _refusal(answer, bytes(body), url)
    return Answered(answer.status, _headers(answer), bytes(body))


def _headers(answer: aiohttp.ClientResponse) -> Headers:
    return tuple((name.lower(), ", ".join(answer.headers.getall(name))) for name in answer.headers)


def _refusal(answer: aiohttp.ClientResponse, body: bytes, url: URL) -> "Status":
    text = f"{url.origin()} answered with status {answer.status}"
    return Status(answer.status, body, text, _headers(answer))


class Status(Failed):
    """The server answered with a failure; only code that knows the format may show the body."""

    def __init__(self, status: int, body: bytes, text: str, headers: Headers = ()) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers
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
