"""docs/script-library.md and the editors' types of the script library, from the comments of its modules.

`make generate` writes both; a test compares. A module's comment is
the first of its file; a function's comment is the lines with three dashes above it, in the words of the Lua language
server (`---@param`, `---@return`). A function without such lines is private to its module.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from controller.domain.traffic.plan.header import parse_header
from tests.unit.lua_configuration.cases import FOLDER

LIBRARY = FOLDER / "library"
DOCUMENT = FOLDER.parent / "docs" / "script-library.md"
TYPES = FOLDER.parent / "editors" / "lua" / "library" / "modules.lua"
BEGIN, END = "<!-- modules: generated -->\n", "<!-- end -->\n"
_FUNCTION = re.compile(r"((?:^---[^\n]*\n)+)^function (\w+)\.(\w+)\(([^)]*)\)", re.MULTILINE)
_PARAM = re.compile(r"@param (\w+)(\??) (.*)")
FAMILIES = (
    "gateway_api", "gateway_rules", "gloo", "kuma", "consul", "contour", "istio", "ingresses",
)  # fmt: skip
"""Modules in the words of one gateway, described after the others."""
ASKING = ("exchange", "events")
"""Modules of scripts that ask, described last."""


class Function(msgspec.Struct, frozen=True):
    """One function of a module."""

    name: str
    arguments: str
    comment: tuple[str, ...]
    """Lines without the dashes."""

    @property
    def description(self) -> str:
        """The description of a function, as Markdown."""
        return "\n".join(itertools.takewhile(lambda line: not line.startswith("@"), self.comment))

    @property
    def params(self) -> Iterator[tuple[str, bool, str]]:
        """Name, whether it may be left out, type and words."""
        for at, line in enumerate(self.comment):
            if match := _PARAM.match(line):
                more = [item.strip() for item in _continued(self.comment[at + 1 :])]
                yield match[1], bool(match[2]), " ".join([match[3], *more])

    @property
    def returns(self) -> tuple[str, ...]:
        """Types and names of what it returns."""
        return tuple(
            line.removeprefix("@return ") for line in self.comment if line.startswith("@return ")
        )


class Described(msgspec.Struct, frozen=True):
    """One module."""

    name: str
    description: str
    uses: tuple[str, ...]
    functions: tuple[Function, ...]


def _continued(lines: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("  "):
            return
        yield line


def described(path: Path) -> Described:
    """The description of a module, from its comments."""
    text = path.read_text()
    head = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if not line.startswith("--@"):
            head.append(line.removeprefix("--").strip())
    functions = tuple(
        Function(
            match[3], match[4], tuple(line.removeprefix("---") for line in match[1].splitlines())
        )
        for match in _FUNCTION.finditer(text)
        if match[2] == path.stem
    )
    return Described(path.stem, "\n".join(head), parse_header(text).uses, functions)


def modules() -> list[Described]:
    """All, those for any kind first."""
    found = [described(path) for path in sorted(LIBRARY.glob("*.lua"))]
    return sorted(
        found, key=lambda module: (module.name in ASKING, module.name in FAMILIES, module.name)
    )


def _markdown(module: Described) -> Iterator[str]:
    yield f"### `{module.name}`\n\n{module.description}\n"
    for function in module.functions:
        yield f"**`{module.name}.{function.name}({function.arguments})`**\n\n{function.description}\n"
        lines = [
            f"- `{name}`{' (may be left out)' if optional else ''}: {_with_type(rest)}"
            for name, optional, rest in function.params
        ]
        lines += [f"- returns {_with_type(rest)}" for rest in function.returns]
        yield "\n".join(lines) + "\n"


def _with_type(rest: str) -> str:
    """`type words` as Markdown; a type may have spaces inside brackets."""
    depth = 0
    for at, letter in enumerate(rest):
        depth += (letter in "({<[") - (letter in ")}>]")
        if letter == " " and depth == 0 and rest[at - 1] not in ":,|":
            words = rest[at + 1 :]
            return f"`{rest[:at]}`{' ' if words else ''}{words}"
    return f"`{rest}`"


def section() -> str:
    """The generated part of the document."""
    return "\n".join(line for module in modules() for line in _markdown(module)) + "\n"


def with_section(text: str) -> str:
    """The document with the modules of today between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"the mark {BEGIN.strip()} is missing"
    assert end, f"the mark {END.strip()} is missing"
    return before + begin + section() + end + after


def types() -> str:
    """The editors' file: every module as a global, by its functions' comments."""
    head = (LIBRARY.parent.parent / "editors" / "lua" / "types.lua.in").read_text()
    parts = [head]
    for module in modules():
        description = "".join(f"---{line}\n" for line in module.description.splitlines())
        parts.append(
            f"{description}---For scripts with the line `--@use {module.name}`.\n{module.name} = {{}}\n"
        )
        for function in module.functions:
            comment = "".join(f"---{line}\n" for line in function.comment)
            parts.append(
                f"{comment}function {module.name}.{function.name}({function.arguments}) end\n"
            )
    return "\n".join(parts)


def main() -> int:
    """Writes both."""
    DOCUMENT.write_text(with_section(DOCUMENT.read_text()))
    TYPES.write_text(types())
    sys.stdout.write(f"{DOCUMENT.name} and {TYPES.name}: {len(modules())} modules\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
