"""Checks whether a gateway accepts a regular expression, before a release stops because of it.

Two answers, because gateways speak two dialects: RE2 (Envoy, Istio, the Gateway API's implementations on Envoy; Go's
regexp, hence Traefik, is the same language) and PCRE (NGINX, APISIX, Kong). An expression that neither compiles is an
error; one that only PCRE compiles is reported as such. Invariant: an expression that one of them compiles is never
called an error. RE2 is not available here: syntax that Python does not know is translated into Python's before it is
compiled.
"""

import re
import warnings

_IN_PYTHONS_WORDS = (
    (re.compile(r"\\[pP](\{\^?\w+\}|[A-Z])"), r"\\w"),
    (re.compile(r"\\z"), r"\\Z"),
    (re.compile(r"\\[CGKRXhHvVN]"), "x"),
    (re.compile(r"\[:\^?\w+:\]"), "a-z"),
    (re.compile(r"\\Q.*?(\\E|$)"), "x"),
    (re.compile(r"\\x\{[0-9A-Fa-f]+\}"), "x"),
    (re.compile(r"\(\?[imsUux]*(-[imsUux]+)?\)"), ""),
    (re.compile(r"\(\?[imsUux]*(-[imsUux]+)?:"), "(?:"),
    (re.compile(r"\(\?<(?![=!])"), "(?P<"),
    (re.compile(r"\(\?(R|\d+|&\w+)\)"), "x"),
    (re.compile(r"\\[gk](\{[^}]*\}|<[^>]*>|'[^']*'|\d)"), "x"),
)
_ONLY_PCRE = re.compile(r"\(\?(<?[=!]|>|\(|R\)|&)|[*+?}]\+|\\[1-9gkGK]")
_ESCAPED = re.compile(r"\\[^1-9gkGK]")
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")


def uncompilable(pattern: str) -> str | None:
    """Why no gateway can compile `pattern`; None if one can."""
    for theirs, ours in _IN_PYTHONS_WORDS:
        pattern = theirs.sub(ours, pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error).partition(" at position")[0]
    return None


def only_pcre(pattern: str) -> bool:
    """Whether RE2 lacks a syntax in `pattern`: look-around, back references, atomic groups, possessive quantifiers."""
    return bool(_ONLY_PCRE.search(_CLASS.sub("x", _ESCAPED.sub("x", pattern))))
