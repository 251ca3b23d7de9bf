"""A request that a script wants to have sent, as a value.

Invariant: pure. A request has the parts that the script wrote: marks are still in it, and nothing is encoded. It is
made of a script's answer (`asked`), gets the places of Secrets (`placing`), and is sent by `controller/outbound`.
"""

from collections.abc import Iterator
from enum import StrEnum
from urllib.parse import urlencode

from controller.domain.decision.value import Value
from controller.domain.traffic.tree import Json, encode

Pairs = tuple[tuple[str, str], ...]


class Verb(StrEnum):
    """How an address is asked."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"
    HEAD = "HEAD"

    @property
    def only_reads(self) -> bool:
        """It changes nothing there; every other one needs an allow-list of its own."""
        return self in (Verb.GET, Verb.HEAD)


class Signature(StrEnum):
    """How the controller signs a request."""

    AWS = "aws"
    GOOGLE = "google"
    HMAC = "hmac"


class Form(Value, frozen=True):
    """Sent as application/x-www-form-urlencoded."""

    fields: Pairs


class JsonBody(Value, frozen=True):
    """A tree that is sent as JSON."""

    tree: Json


class TextBody(Value, frozen=True):
    """A text that is sent as it is."""

    text: str


Content = Form | JsonBody | TextBody | None


class HttpRequest(Value, frozen=True):
    """One request; `query` is added to the address."""

    url: str
    method: Verb = Verb.GET
    query: Pairs = ()
    headers: Pairs = ()
    content: Content = None
    basic: tuple[str, str] | None = None
    sign: Signature | None = None

    @property
    def address(self) -> str:
        """The address with the query, encoded."""
        if not self.query:
            return self.url
        return self.url + ("&" if "?" in self.url else "?") + urlencode(self.query)

    @property
    def shown(self) -> str:
        """The request in words of a status: without its query and its content, where values of others may be."""
        return f"{self.method} {self.url.partition('?')[0]}"


class ObjectRequest(Value, frozen=True):
    """One object of the Rollout's namespace."""

    api_version: str
    kind: str
    name: str

    @property
    def shown(self) -> str:
        """The request in words of a status."""
        return f"{self.kind} {self.name}"


Asked = HttpRequest | ObjectRequest


def texts_in(value: Json) -> Iterator[str]:
    """Every text of a tree, and every name of a member."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def names_in(value: Json) -> Iterator[str]:
    """Every name of a member in a tree."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def size_of(content: Content) -> int:
    """Bytes that are sent as the content, or nearly as many."""
    if isinstance(content, Form):
        return len(urlencode(content.fields))
    if isinstance(content, JsonBody):
        return len(encode(content.tree))
    return len(content.text.encode()) if isinstance(content, TextBody) else 0
