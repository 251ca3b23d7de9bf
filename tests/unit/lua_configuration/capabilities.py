"""The table of the kinds' abilities in docs/gateways.md, from the scripts' headers.

`python -m tests.unit.lua_configuration.capabilities --update` writes it; a test compares.
"""

import sys
from pathlib import Path

from controller.domain.traffic.plan.header import parse_header
from tests.unit.lua_configuration.cases import FOLDER

DOCUMENT = FOLDER.parent / "docs" / "gateways.md"
BEGIN, END = "<!-- capabilities: generated -->\n", "<!-- end -->\n"
COLUMNS = (
    "weight",
    "subpercent",
    "header",
    "header-regex",
    "cookie",
    "query",
    "path",
    "method",
    "both",
    "header-modifier",
)


def scripts() -> list[Path]:
    """Scripts of kinds; Ingress classes answer to another contract."""
    return sorted(FOLDER.glob("*.*/*/trafficRouting.lua"))


def table() -> str:
    """The table as Markdown."""
    lines = [
        f"| Kind | {' | '.join(COLUMNS)} |",
        f"|---|{':-:|' * len(COLUMNS)}",
    ]
    for path in scripts():
        can = parse_header(path.read_text()).can or frozenset()
        unknown = can - set(COLUMNS)
        assert not unknown, f"{path}: no column for {', '.join(sorted(unknown))}"
        marks = " | ".join("●" if word in can else "" for word in COLUMNS)
        kind = path.parent.relative_to(FOLDER).as_posix()
        lines.append(f"| `{kind}` | {marks} |")
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    """The document with the table of today between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"the mark {BEGIN.strip()} is missing"
    assert end, f"the mark {END.strip()} is missing"
    return before + begin + table() + end + after


def main() -> int:
    """Compares, or writes with --update."""
    text = DOCUMENT.read_text()
    wanted = with_table(text)
    if text != wanted and "--update" in sys.argv:
        DOCUMENT.write_text(wanted)
        return 0
    return int(text != wanted)


if __name__ == "__main__":
    raise SystemExit(main())
