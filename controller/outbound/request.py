"""One request before it is sent, and the places of Secrets in it.

Invariant: pure. A value of a Secret is escaped for its place, and never decides which address is asked. Only
`controller.outbound.fetching` puts values in.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

import msgspec

from controller.api.analysis import Header, Method, SecretKey, SecretRef
from controller.domain.exchange.request import Signature, Verb
from controller.domain.gates.in_body import as_json_text, is_json
from controller.domain.gates.secret_places import place_of, secrets_of, with_values

READING = (Verb.GET, Verb.HEAD)
SECRET_IN_ADDRESS = "a Secret may not say which address is asked"
_HIDDEN = "\0"
Form = tuple[tuple[str, str], ...]


class Failed(Exception):
    """There is no answer; the text says why, in words for the Rollout's owner."""


class Signing(msgspec.Struct, frozen=True):
    """How a request is signed: `service` is the one of AWS, the scope of Google, or the header of an HMAC."""

    by: Signature
    service: str
    region: str
    keys: tuple[tuple[str, SecretKey], ...]
    at: int
    """Seconds since 1970."""


class Request(msgspec.Struct, frozen=True):
    """One request; equal requests at the same time are sent once."""

    namespace: str
    url: str
    form: Form = ()
    """Sent with a POST, in the place of `body`."""
    headers: tuple[Header, ...] = ()
    auth: SecretRef | None = None
    method: Method | Verb = Method.GET
    body: str = ""
    timeout_seconds: float = 10
    basic: tuple[str, str] | None = None
    """User and password."""
    is_json: bool = False
    """The body is JSON, whatever its type is called."""
    only_asks: bool = False
    """The form is a question, such as a query of Prometheus, and changes nothing there."""
    signing: Signing | None = None
    by_script: bool = False
    """The path of the address may have the value of a Secret of several parts."""

    @property
    def sent_by(self) -> Method | Verb:
        """The method that the server sees; a form is sent by a POST."""
        return Method.POST if self.form and self.method == Method.GET else self.method

    @property
    def changes(self) -> bool:
        """It may change something there, so its address has to be allowed for that."""
        return self.sent_by not in READING and not self.only_asks

    @property
    def sent_once(self) -> bool:
        """It may change something there, so it is not repeated once it may have arrived."""
        return self.by_script and self.sent_by not in READING

    @property
    def content(self) -> bytes | list[tuple[str, str]] | None:
        """The bytes or the form behind the headers."""
        return list(self.form) or self.body.encode() or None


def texts_of(request: Request) -> tuple[str, ...]:
    """The parts of a request that may contain a Secret's value."""
    values = (*(text for _, text in request.form), *(header.value for header in request.headers))
    keys = request.signing.keys if request.signing is not None else ()
    signed = (place_of(key) for _, key in keys)
    return (request.url, request.body, *values, *(request.basic or ()), *signed)


def without_values(request: Request) -> Request:
    """The request with a neutral text in the places of its address. Raises `Failed` for a place in the host."""
    wanted = secrets_of((request.url,))
    scheme, _, rest = with_values(request.url, dict.fromkeys(wanted, _HIDDEN)).partition("://")
    if _HIDDEN in scheme + re.split(r"[/?#\\]", rest)[0]:
        raise Failed(SECRET_IN_ADDRESS)
    neutral = with_values(request.url, dict.fromkeys(wanted, "value"))
    return msgspec.structs.replace(request, url=neutral)


def with_values_of(request: Request, values: Mapping[SecretKey, str]) -> Request:
    """The request with the values of Secrets in their places."""
    safe = "/" if request.by_script else ""
    in_url = {one: quote(value, safe=safe) for one, value in values.items()}
    in_body = {one: in_body_of(request)(value) for one, value in values.items()}
    url = with_values(request.url, in_url)
    if request.by_script and url != request.url and _leaves_its_folder(url):
        raise Failed(
            "a value of a Secret in an address may not stand for another folder of the path"
        )
    basic = request.basic
    return msgspec.structs.replace(
        request,
        url=url,
        basic=None
        if basic is None
        else (with_values(basic[0], values), with_values(basic[1], values)),
        form=tuple((name, with_values(text, values)) for name, text in request.form),
        body=with_values(request.body, in_body),
        headers=tuple(
            Header(header.name, with_values(header.value, values)) for header in request.headers
        ),
    )


def _leaves_its_folder(url: str) -> bool:
    """Whether a part of the path is `.` or `..`, in any spelling."""
    path = re.split(r"[?#]", url.partition("://")[2])[0]
    return any(unquote(part) in (".", "..") for part in re.split(r"[/\\]", path)[1:])


def in_body_of(request: Request) -> Callable[[str], str]:
    """How the value of a Secret is written in the body of this request."""
    return as_json_text if request.is_json or is_json(request.headers) else str
