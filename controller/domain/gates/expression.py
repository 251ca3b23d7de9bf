"""Regular expressions about the text of a page, by RE2.

Why not Python's `re`: it goes back and tries again, so that `(a|a)*b` takes hours, even without nested quantifiers, and
a gate's author would stop the gates of everybody. RE2's time grows with the text only. Invariant: pure; the sizes of
the expression and of the text are bounded. The syntax is the one that admission accepts for gateways with RE2.
"""

import re2

from controller.api.re2 import why_not_re2

LONGEST_PATTERN = 256
LONGEST_TEXT = 1024
"""Characters of a text that an expression reads."""
MOST_MEMORY = 1 << 20
"""Bytes of a compiled expression and its tables; a larger one is refused."""

_OPTIONS = re2.Options()
_OPTIONS.max_mem = MOST_MEMORY
_OPTIONS.log_errors = False


class Expression:
    """An expression that can be searched for."""

    def __init__(self, pattern: str) -> None:
        """Raise `re2.error` for one that RE2 does not compile."""
        self._compiled = re2.compile(pattern, _OPTIONS)

    def found_in(self, text: str) -> bool:
        """Whether a part of the text matches."""
        return self._compiled.search(text) is not None


def expression(pattern: str) -> Expression | str:
    """The expression, or why it cannot be used."""
    if len(pattern) > LONGEST_PATTERN:
        return f"an expression has {LONGEST_PATTERN} characters at most"
    if unknown := why_not_re2(pattern):
        return unknown
    try:
        return Expression(pattern)
    except re2.error as refused:
        words = refused.args[0] if refused.args else b""
        return f"RE2 refuses it: {words.decode() if isinstance(words, bytes) else words}"
