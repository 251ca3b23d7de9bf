"""The header of a script: statements about itself in comments at its top.

Lines such as `--@after networking.istio.io/DestinationRule` are ordinary comments for Lua, so a script with a header
still runs under the original controller, and a script without a header still runs here.
Invariant: reading never fails; unknown lines are ignored, because a later version may add keywords.
"""

import msgspec


class GroupKind(msgspec.Struct, frozen=True):
    """A kind of object in any version; the core group is empty."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.kind}" if self.group else self.kind


class Declared(msgspec.Struct, frozen=True):
    """A name that a script that asks is given; `query?` may be left out."""

    name: str
    needed: bool = True


class ScriptHeader(msgspec.Struct, frozen=True):
    """`after`: kinds that are written before this kind's objects. `siblings`: kinds whose objects the script wants to
    read.

    `uses`: modules of the script library, by name. `same_as`: the script of another kind is used. `can`: the abilities
    that admission compares with a step; None when the header has none, which allows everything. `announces`: proxies
    learn of Services from objects of this kind, so a Service is first named without a share. `regex`: the dialect of
    the gateway's regular expressions; empty if it is not certain. `longest_regex`: the characters of the longest one;
    0 if there is no limit.

    Of scripts that ask: `does` is empty for a script of a gateway; `asks` are the schemes of its requests, `get` among
    them; `signature` and `signs_for` say how the controller signs, and for which service.
    """

    name: str = ""
    after: tuple[GroupKind, ...] = ()
    siblings: tuple[GroupKind, ...] = ()
    can: frozenset[str] | None = None
    announces: bool = False
    uses: tuple[str, ...] = ()
    same_as: GroupKind | None = None
    regex: str = ""
    longest_regex: int = 0
    does: str = ""
    asks: tuple[str, ...] = ()
    secrets: tuple[Declared, ...] = ()
    params: tuple[Declared, ...] = ()
    signature: str = ""
    signs_for: str = ""
    docs: str = ""


def _declared(words: str) -> tuple[Declared, ...]:
    names = dict.fromkeys(words.replace(",", " ").split())
    return tuple(Declared(name.removesuffix("?"), not name.endswith("?")) for name in names)


def _kinds(words: str) -> tuple[GroupKind, ...]:
    found = []
    for word in words.replace(",", " ").split():
        group, _, kind = word.rpartition("/")
        if kind:
            found.append(GroupKind(group, kind))
    return tuple(dict.fromkeys(found))


def parse_header(text: str) -> ScriptHeader:
    """The header of a script: its leading comment lines. The values of a repeated keyword are joined."""
    entries: dict[str, str] = {}
    for line in text.splitlines():
        bare = line.strip().removeprefix("\ufeff")
        if bare and not bare.startswith("--"):
            break
        keyword, _, rest = bare.removeprefix("--@").partition(" ")
        if bare.startswith("--@"):
            entries[keyword] = f"{entries.get(keyword, '')} {rest}".strip()
    words = entries.get("can", "").replace(",", " ").split()
    signature, signs_for, *_ = (*entries.get("sign", "").split(), "", "")
    does = entries.get("does", "")
    dialect, longest, *_ = (*entries.get("regex", "").replace(",", " ").split(), "", "")
    return ScriptHeader(
        name=entries.get("name", ""),
        after=_kinds(entries.get("after", "")),
        siblings=_kinds(entries.get("siblings", "")),
        can=frozenset(words) if "can" in entries else None,
        announces="announce" in entries,
        uses=tuple(dict.fromkeys(entries.get("use", "").replace(",", " ").split())),
        same_as=next(iter(_kinds(entries.get("same-as", ""))), None),
        regex=dialect,
        longest_regex=int(longest) if longest.isascii() and longest.isdecimal() else 0,
        does="" if does == "route" else does,
        asks=tuple(dict.fromkeys(entries.get("asks", "").replace(",", " ").split())),
        secrets=_declared(entries.get("secrets", "")),
        params=_declared(entries.get("params", "")),
        signature=signature,
        signs_for=signs_for,
        docs=entries.get("docs", ""),
    )
