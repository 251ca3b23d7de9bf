"""A request as it is sent: encoded, with the places of Secrets where the script had marks.

Invariant: pure. A mark stands only where its value cannot choose who is asked or what is named: in a path, a query's
value, a header's value, a form's value, a text of a JSON tree, a body, or `basic`. A text of the script that is the
place of a Secret already is refused. No mark of this turn is left in what is returned, and a mark of another turn is
refused. In JSON a mark is placed in the tree, which is encoded afterwards.
"""

import re
from collections.abc import Iterator
from typing import assert_never

from controller.domain.decision.value import Value
from controller.domain.exchange.answer import Asks, Turn
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.marks import Marks, has_mark, has_place
from controller.domain.exchange.request import (
    Asked,
    Content,
    Form,
    HttpRequest,
    JsonBody,
    ObjectRequest,
    Pairs,
    Signature,
    TextBody,
    Verb,
    names_in,
    texts_in,
)
from controller.domain.traffic.tree import Json, encode

CONTENT_TYPE = "content-type"
OWN_PLACE = "a script may not write the place of a Secret's value: use obj.secrets"
IN_ADDRESS = "a secret may not say which address is asked: it may stand behind the host only"
IN_NAME = "a secret may stand in values only, not in a name"
NOT_OF_THIS_TURN = "this mark is not of this turn: take the secret from obj.secrets again"
NOT_KEPT = "a secret is not kept: take it from obj.secrets in each turn"
NOT_SHOWN = "a secret may not be a value"
IN_OBJECT = "a secret may not say which object is read"
_AUTHORITY = re.compile(r"[^/?#]*//[^/?#]*")


class Outgoing(Value, frozen=True):
    """A request as it is sent, but for the values of Secrets; `body` and `form` are its content."""

    url: str
    method: Verb
    headers: Pairs = ()
    form: Pairs = ()
    body: str = ""
    is_json: bool = False
    basic: tuple[str, str] | None = None
    sign: Signature | None = None


Placed = Outgoing | ObjectRequest


def placed(asks: Asks, marks: Marks) -> tuple[Placed, ...] | Refused:
    """The requests of a turn as they are sent, or the first text that may not stand in its place."""
    if why := _kept_in(asks.state, "state"):
        return why
    found: list[Placed] = []
    for number, request in enumerate(asks.requests, 1):
        place = f"ask[{number}]"
        if isinstance(request, ObjectRequest):
            if any(map(has_mark, (request.api_version, request.kind, request.name))):
                return Refused(f"{place}.get", IN_OBJECT)
            found.append(request)
            continue
        if refused := _misplaced(request, place, marks):
            return refused
        found.append(_outgoing(request, marks))
    return tuple(found)


def unfit_result(turn: Turn) -> Refused | None:
    """Why the last answer of a script may not be kept: it has a mark where a status would show it."""
    value = getattr(turn, "value", None)
    if isinstance(value, str) and has_mark(value):
        return Refused("value", NOT_SHOWN)
    return _kept_in(getattr(turn, "state", None), "state")


def _kept_in(state: Json, place: str) -> Refused | None:
    return Refused(place, NOT_KEPT) if any(map(has_mark, texts_in(state))) else None


def _misplaced(request: HttpRequest, place: str, marks: Marks) -> Refused | None:
    for field, text in _texts(request):
        if has_place(text):
            return Refused(f"{place}.{field}", OWN_PLACE)
        if has_mark(marks.with_places(text)):
            return Refused(f"{place}.{field}", NOT_OF_THIS_TURN)
    authority = _AUTHORITY.match(request.url)
    if has_mark(authority[0] if authority else request.url):
        return Refused(f"{place}.url", IN_ADDRESS)
    for field, name in _names(request):
        if has_mark(name):
            return Refused(f"{place}.{field}", IN_NAME)
    return None


def _texts(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """Every text of a request with its field, names included."""
    yield "url", request.url
    for field, pairs in (("query", request.query), ("headers", request.headers)):
        yield from ((field, text) for pair in pairs for text in pair)
    yield from (("basic", text) for text in request.basic or ())
    yield from _content_texts(request.content)


def _content_texts(content: Content) -> Iterator[tuple[str, str]]:
    match content:
        case Form(fields):
            yield from (("form", text) for pair in fields for text in pair)
        case JsonBody(tree):
            yield from (("json", text) for text in texts_in(tree))
        case TextBody(text):
            yield "body", text
        case None:
            return
        case other:
            assert_never(other)


def _names(request: HttpRequest) -> Iterator[tuple[str, str]]:
    yield from (("query", name) for name, _ in request.query)
    yield from (("headers", name) for name, _ in request.headers)
    if isinstance(request.content, Form):
        yield from (("form", name) for name, _ in request.content.fields)
    if isinstance(request.content, JsonBody):
        yield from (("json", name) for name in names_in(request.content.tree))


def _outgoing(request: HttpRequest, marks: Marks) -> Outgoing:
    return Outgoing(
        url=marks.with_places(request.address),
        method=request.method,
        headers=_in_pairs(_with_type(request), marks),
        form=_in_pairs(request.content.fields, marks) if isinstance(request.content, Form) else (),
        body=_body(request.content, marks),
        is_json=isinstance(request.content, JsonBody),
        basic=_in_basic(request.basic, marks),
        sign=request.sign,
    )


def _in_pairs(pairs: Pairs, marks: Marks) -> Pairs:
    return tuple((name, marks.with_places(text)) for name, text in pairs)


def _in_basic(basic: tuple[str, str] | None, marks: Marks) -> tuple[str, str] | None:
    return None if basic is None else (marks.with_places(basic[0]), marks.with_places(basic[1]))


def _with_type(request: HttpRequest) -> Pairs:
    """The headers with the type of the content, where the script has not said it."""
    if isinstance(request.content, Form) or request.content is None:
        return request.headers
    if any(name.lower() == CONTENT_TYPE for name, _ in request.headers):
        return request.headers
    usual = (
        "application/json" if isinstance(request.content, JsonBody) else "text/plain; charset=utf-8"
    )
    return (*request.headers, ("Content-Type", usual))


def _body(content: Content, marks: Marks) -> str:
    match content:
        case JsonBody(tree):
            return marks.with_places(encode(tree).decode())
        case TextBody(text):
            return marks.with_places(text)
        case Form() | None:
            return ""
        case other:
            assert_never(other)


def shown_first(asked: tuple[Asked, ...]) -> str:
    """The first request of a turn, for a status."""
    return asked[0].shown
