"""Lua 5.1, statement by statement: where each begins, and which global names a script uses.

For the coverage of tests and the notes of the linter, which need positions that the worker does not tell. Whether a
script compiles is the worker's word alone. Invariant: a position is the first character of a whole statement, so that
another statement can be put before it; scopes are those of the manual, section 2.6.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from controller.cli.scripts.lua_tokens import NotLua, Token, tokens_of

_BLOCK_ENDS = frozenset({"end", "else", "elseif", "until"})
_UNARY = frozenset({"-", "not", "#"})
_BINARY = frozenset({*"+-*/^%<>", "..", "<=", ">=", "==", "~=", "and", "or"})
_LITERALS = frozenset({"nil", "true", "false"})


class Position(msgspec.Struct, frozen=True):
    """Where something stands."""

    offset: int
    line: int


class GlobalUse(msgspec.Struct, frozen=True):
    """A name that no `local` declares, read or assigned."""

    name: str
    line: int
    assigned: bool


class Syntax(msgspec.Struct, frozen=True):
    """What there is in a script."""

    statements: tuple[Position, ...]
    globals: tuple[GlobalUse, ...]


def syntax_of(source: str) -> Syntax:
    """Statements and global names. Raises NotLua."""
    parser = _Parser(tokens_of(source))
    parser.chunk()
    return Syntax(tuple(parser.statements), tuple(parser.globals))


class _Parser:
    """Recursive descent; remembers positions and scopes, builds no tree."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._scopes: list[set[str]] = []
        self.statements: list[Position] = []
        self.globals: list[GlobalUse] = []

    # --- tokens -----------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _sees(self, *texts: str) -> bool:
        return self._token.kind in ("keyword", "symbol") and self._token.text in texts

    def _next(self) -> Token:
        token = self._token
        if token.kind == "end":
            raise NotLua(f"line {token.line}: the script ends in the middle of something")
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if not self._sees(text):
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise NotLua(f"line {self._token.line}: {text!r} expected near {self._token.text!r}")

    def _name(self) -> Token:
        if self._token.kind != "name":
            raise NotLua(f"line {self._token.line}: name expected near {self._token.text!r}")
        return self._next()

    # --- scopes -----------------------------------------------------------------------------------

    @contextmanager
    def _scope(self, *names: str) -> Iterator[None]:
        self._scopes.append(set(names))
        yield
        self._scopes.pop()

    def _declare(self, *names: str) -> None:
        self._scopes[-1].update(names)

    def _use(self, name: Token, *, assigned: bool = False) -> None:
        if not any(name.text in scope for scope in self._scopes):
            self.globals.append(GlobalUse(name.text, name.line, assigned))

    # --- statements -------------------------------------------------------------------------------

    def chunk(self) -> None:
        """The whole script."""
        with self._scope():
            self._statements()
        if self._token.kind != "end":
            raise NotLua(f"line {self._token.line}: unexpected {self._token.text!r}")

    def _block(self, *names: str) -> None:
        with self._scope(*names):
            self._statements()

    def _statements(self) -> None:
        while self._token.kind != "end" and not self._sees(*_BLOCK_ENDS):
            self.statements.append(Position(self._token.offset, self._token.line))
            last = self._sees("return", "break")
            self._statement()
            self._accept(";")
            if last:
                return

    def _statement(self) -> None:
        token = self._token
        handler = _STATEMENTS.get(token.text) if token.kind == "keyword" else None
        if handler is None:
            self._expression_statement()
            return
        self._at += 1
        handler(self)

    def _do(self) -> None:
        self._block()
        self._expect("end")

    def _while(self) -> None:
        self._expression()
        self._expect("do")
        self._do()

    def _repeat(self) -> None:
        # The condition sees the locals of the body.
        with self._scope():
            self._statements()
            self._expect("until")
            self._expression()

    def _if(self) -> None:
        self._expression()
        self._expect("then")
        self._block()
        if self._accept("elseif"):
            self._if()
        elif self._accept("else"):
            self._do()
        else:
            self._expect("end")

    def _for(self) -> None:
        names = [self._name().text]
        if self._accept("="):
            self._expressions()
        else:
            while self._accept(","):
                names.append(self._name().text)
            self._expect("in")
            self._expressions()
        self._expect("do")
        self._block(*names)
        self._expect("end")

    def _function(self) -> None:
        name = self._name()
        method = False
        plain = True
        while not method and self._sees(".", ":"):
            method = self._next().text == ":"
            plain = False
            self._name()
        self._use(name, assigned=plain)
        self._body("self" if method else "")

    def _local(self) -> None:
        if self._accept("function"):
            self._declare(self._name().text)
            self._body()
            return
        names = [self._name().text]
        while self._accept(","):
            names.append(self._name().text)
        if self._accept("="):
            self._expressions()
        # A local is not in scope in its own initial value.
        self._declare(*names)

    def _return(self) -> None:
        if self._token.kind != "end" and not self._sees(*_BLOCK_ENDS, ";"):
            self._expressions()

    def _break(self) -> None:
        return

    def _expression_statement(self) -> None:
        targets = [self._suffixed(target=True)]
        while self._accept(","):
            targets.append(self._suffixed(target=True))
        if self._accept("="):
            for target in targets:
                if target is not None:
                    self._use(target, assigned=True)
            self._expressions()
        elif len(targets) > 1 or targets[0] is not None:
            raise NotLua(f"line {self._token.line}: '=' expected near {self._token.text!r}")

    # --- expressions ------------------------------------------------------------------------------

    def _expressions(self) -> None:
        self._expression()
        while self._accept(","):
            self._expression()

    def _expression(self) -> None:
        while True:
            while self._sees(*_UNARY):
                self._at += 1
            self._simple()
            if not self._sees(*_BINARY):
                return
            self._at += 1

    def _simple(self) -> None:
        if self._token.kind in ("number", "string") or self._sees(*_LITERALS, "..."):
            self._at += 1
        elif self._sees("{"):
            self._table()
        elif self._accept("function"):
            self._body()
        else:
            self._suffixed()

    def _suffixed(self, *, target: bool = False) -> Token | None:
        """A name or a bracketed expression with what follows it; a bare name is given back where it may be assigned."""
        name: Token | None = None
        if self._accept("("):
            self._expression()
            self._expect(")")
        else:
            name = self._name()
        bare = True
        while self._suffix():
            if bare and name is not None:
                self._use(name)
            bare = False
        if name is None or not bare:
            return None
        if not target:
            self._use(name)
        return name

    def _suffix(self) -> bool:
        if self._accept("."):
            self._name()
        elif self._accept("["):
            self._expression()
            self._expect("]")
        elif self._accept(":"):
            self._name()
            self._arguments()
        elif self._sees("(", "{") or self._token.kind == "string":
            self._arguments()
        else:
            return False
        return True

    def _arguments(self) -> None:
        if self._token.kind == "string":
            self._at += 1
        elif self._sees("{"):
            self._table()
        else:
            self._expect("(")
            if not self._sees(")"):
                self._expressions()
            self._expect(")")

    def _table(self) -> None:
        self._expect("{")
        while not self._accept("}"):
            following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
            if self._accept("["):
                self._expression()
                self._expect("]")
                self._expect("=")
            elif self._token.kind == "name" and (following.kind, following.text) == ("symbol", "="):
                self._at += 2
            self._expression()
            if not self._sees("}") and not self._accept(";"):
                self._expect(",")

    def _body(self, implicit: str = "") -> None:
        names = [implicit] if implicit else []
        self._expect("(")
        while not self._accept(")"):
            if not self._accept("..."):
                names.append(self._name().text)
            if not self._sees(")"):
                self._expect(",")
        self._block(*names)
        self._expect("end")


_STATEMENTS = {
    "do": _Parser._do,
    "while": _Parser._while,
    "repeat": _Parser._repeat,
    "if": _Parser._if,
    "for": _Parser._for,
    "function": _Parser._function,
    "local": _Parser._local,
    "return": _Parser._return,
    "break": _Parser._break,
}
