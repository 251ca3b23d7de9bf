"""Conditions on requests, as a person types them.

`name=value` is a header, `name~=value` a header by regular expression; the prefixes `query:`, `path:`, `method:` and
`cookie:` mark other conditions. Conditions joined by commas hold together; several options are alternatives.
"""

import re

import click

from controller.api.rollout import HttpRouteMatch, PathMatch, ValueMatch

_PATHS = {"=": "Exact", "~=": "RegularExpression", "": "PathPrefix"}
_PAIR = re.compile(r"(?P<name>[^=~]+)(?P<sign>~?=)(?P<value>.*)\Z", re.DOTALL)
_COOKIE = "canary-by-cookie"
"""The header that means a cookie, by the original's convention; the header's value is the cookie's name."""


def parse_match(text: str) -> HttpRouteMatch:
    """One alternative. Raises click.BadParameter."""
    headers: list[ValueMatch] = []
    queries: list[ValueMatch] = []
    path: PathMatch | None = None
    method = ""
    for part in text.split(","):
        word, colon, rest = part.partition(":")
        match word if colon else "":
            case "query":
                queries.append(_pair(rest))
            case "path":
                path = _path(rest)
            case "method":
                method = rest
            case "cookie":
                headers.append(ValueMatch("Exact", _COOKIE, rest))
            case _:
                headers.append(_pair(part))
    return HttpRouteMatch(path, tuple(headers), tuple(queries), method)


def _pair(text: str) -> ValueMatch:
    found = _PAIR.match(text)
    if found is None:
        raise click.BadParameter(
            f"{text!r}: name=value, name~=regex, query:name=value, path:/x, path:=/x, method:GET "
            "or cookie:name is expected"
        )
    kind = "Exact" if found["sign"] == "=" else "RegularExpression"
    return ValueMatch(kind, found["name"], found["value"])


def _path(text: str) -> PathMatch:
    sign = next(sign for sign in ("~=", "=", "") if text.startswith(sign))
    return PathMatch(_PATHS[sign], text.removeprefix(sign))
