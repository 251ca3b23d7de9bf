"""Reads one request of a script's answer.

Invariant: pure and total. A request that this returns has an absolute address with a host, at most one content, and
only fields that are known. It decides nothing about what may be asked: the allow-list does (`controller/outbound`).
"""

import re

from controller.domain.exchange.fields import Fields
from controller.domain.exchange.limits import CONTENT_BYTES, PAIRS, URL_CHARACTERS
from controller.domain.exchange.request import (
    Asked,
    Content,
    Form,
    HttpRequest,
    JsonBody,
    ObjectRequest,
    Signature,
    TextBody,
    Verb,
    size_of,
)
from controller.domain.traffic.tree import encode

_CONTENTS = ("form", "json", "body")
_FIELDS = ("method", "url", "query", "headers", *_CONTENTS, "basic", "sign", "get")
_ADDRESS = re.compile(r"https?://[^/?#\\\s]+(?:[/?][^#\s]*)?")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.:-]*[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_API_VERSION = re.compile(r"([a-z0-9.-]+/)?v[a-z0-9]+")
_LONGEST_NAME = 253


def read_request(fields: Fields) -> Asked:
    """The request of a table; its mistakes are kept in `fields`."""
    fields.only(*_FIELDS)
    if fields.has("get"):
        return _object(fields)
    url, contents = _url(fields), _contents(fields)
    method = _method(fields, Verb.GET if contents is None else Verb.POST)
    if contents is not None and method.only_reads:
        fields.refuse("method", f"{method} has no content: leave out form, json and body")
    request = HttpRequest(
        url,
        method,
        fields.pairs("query", PAIRS),
        _headers(fields),
        contents,
        _basic(fields),
        _signature(fields),
    )
    if size_of(contents) > CONTENT_BYTES:
        fields.refuse("body", f"the content may have {CONTENT_BYTES // 1024} KiB")
    if len(request.address) > URL_CHARACTERS:
        fields.refuse("url", f"the address with its query may have {URL_CHARACTERS} characters")
    return request


def _url(fields: Fields) -> str:
    url = fields.text("url", most=URL_CHARACTERS)
    if not _ADDRESS.fullmatch(url):
        fields.refuse("url", "it should be an address: http:// or https://, a host, and a path")
    return url


def _method(fields: Fields, usual: Verb) -> Verb:
    name = fields.text("method", most=16)
    if not name:
        return usual
    if name not in tuple(Verb):
        fields.refuse("method", f"it should be one of {', '.join(Verb)}")
        return usual
    return Verb(name)


def _contents(fields: Fields) -> Content:
    given = [name for name in _CONTENTS if fields.has(name)]
    if len(given) > 1:
        fields.refuse(given[1], f"a request has one content, and this one has {given[0]}, too")
    if not given:
        return None
    match given[0]:
        case "form":
            return Form(fields.pairs("form", PAIRS))
        case "json":
            return JsonBody(fields.tree["json"])
        case _:
            return TextBody(fields.text("body", most=CONTENT_BYTES))


def _headers(fields: Fields) -> tuple[tuple[str, str], ...]:
    found = fields.pairs("headers", PAIRS)
    for name, text in found:
        if not _HEADER_NAME.fullmatch(name):
            fields.refuse("headers", "a name of a header has letters, digits and - only")
        elif _CONTROL.search(text):
            fields.refuse(f"headers.{name}", "a header has no line break and no control character")
    lower = [name.lower() for name, _ in found]
    if len(set(lower)) < len(lower):
        fields.refuse("headers", "each header is given once")
    return found


def _basic(fields: Fields) -> tuple[str, str] | None:
    if not fields.has("basic"):
        return None
    given = fields.items("basic", 1, 2)
    texts = [one for one in given if isinstance(one, str)]
    if not texts or len(texts) < len(given):
        fields.refuse("basic", "it should be {user, password}, two texts")
        return None
    return texts[0], texts[1] if len(texts) > 1 else ""


def _signature(fields: Fields) -> Signature | None:
    name = fields.text("sign", most=16)
    if name and name not in tuple(Signature):
        fields.refuse("sign", f"it should be one of {', '.join(Signature)}")
        return None
    return Signature(name) if name else None


def _object(fields: Fields) -> ObjectRequest:
    fields.only("get")
    table = fields.table("get") or Fields({}, fields.place_of("get"), fields.mistakes)
    table.only("apiVersion", "kind", "name")
    found = {name: table.text(name, most=_LONGEST_NAME) for name in ("apiVersion", "kind", "name")}
    forms = {"apiVersion": _API_VERSION, "kind": _KIND, "name": _NAME}
    for name, form in forms.items():
        if not form.fullmatch(found[name]):
            table.refuse(name, f"it should be the {name} of an object of Kubernetes")
    return ObjectRequest(found["apiVersion"], found["kind"], found["name"])


def is_small(state: Fields, most: int) -> bool:
    """Whether a table is at most so many bytes as JSON."""
    return len(encode(state.tree)) <= most
