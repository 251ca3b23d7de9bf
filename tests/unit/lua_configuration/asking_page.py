"""The tables and snippets of docs/packaged-scripts.md: packaged sources, checks and targets, with what their cases ask.

`python -m tests.unit.lua_configuration.asking_page --update` writes them; a test compares. Names of parameters and
secrets are those of the headers, which the linter proves; addresses and methods are those of the cases, which pass.
"""

import re
import sys
from collections.abc import Iterator

from controller.cli.script_tools.exchange_cases import AskingCase, read_exchanges
from controller.cli.script_tools.script_folders import Subject, asking_subjects_in
from controller.domain.exchange.answer import Does
from controller.domain.exchange.declared import GET, secrets_of
from controller.domain.traffic.plan.header import Declared
from tests.unit.lua_configuration.asking_snippets import snippets
from tests.unit.lua_configuration.cases import FOLDER

DOCUMENT = FOLDER.parent / "docs" / "packaged-scripts.md"
_TITLES = {Does.SOURCE: "Sources", Does.CHECK: "Checks", Does.TARGET: "Targets"}
_HOST = re.compile(r"https?://([^/?:]+)")
SNIPPETS = ("<!-- snippets: generated -->\n", "<!-- end of snippets -->\n")
"""Begin and end of what to paste."""
OWN_ADDRESS = "`address`"
"""Instead of hosts, for a script with a parameter of this name."""


def marks(does: Does) -> tuple[str, str]:
    """Begin and end of a table in the page."""
    return f"<!-- {does}s: generated -->\n", "<!-- end -->\n"


def table(does: Does) -> str:
    """The table of one kind of scripts."""
    lines = [
        "| Script | Name | Parameters | Secrets | Asks | Cases | Page |",
        "|---|---|---|---|---|--:|---|",
    ]
    lines += [_row(one) for one in asking_subjects_in(FOLDER) if one.does == does]
    return "\n".join(lines) + "\n"


def _row(subject: Subject) -> str:
    header = subject.read().header
    cases = [
        case for path in subject.cases() if isinstance(case := read_exchanges(path), AskingCase)
    ]
    methods, hosts = sorted({m for m, _ in _asked(cases)}), sorted({h for _, h in _asked(cases)})
    if any(one.name == "address" for one in header.params):
        hosts = [OWN_ADDRESS]
    asks = f"{', '.join(methods)} {', '.join(hosts)}"
    cells = (
        f"`{subject.path.stem}`",
        _linked(subject, header.name),
        _names(header.params),
        _names(secrets_of(header)),
        asks.strip(),
        str(len(cases)),
        f"[{_HOST.findall(header.docs)[0]}]({header.docs})",
    )
    return f"| {' | '.join(cells)} |"


def _linked(subject: Subject, name: str) -> str:
    """The name, with a link to what to paste."""
    if subject.does != Does.SOURCE:
        return name
    place = re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-")
    return f"[{name}](#{place})"


def _names(declared: tuple[Declared, ...]) -> str:
    """Those that may be left out with a question mark."""
    return ", ".join(f"`{one.name}{'' if one.needed else '?'}`" for one in declared) or "–"


def _asked(cases: list[AskingCase]) -> Iterator[tuple[str, str]]:
    """Method and host of every request."""
    for case in cases:
        for exchange in case.exchanges:
            for request in exchange.requests:
                found = request.get(GET)
                if isinstance(found, dict):
                    yield GET, f"`{found['kind']}`"
                else:
                    host = _HOST.findall(str(request["url"]))[0]
                    yield str(request.get("method", "GET")), f"`{host}`"


def with_tables(text: str) -> str:
    """The document with the tables and snippets of today between their marks."""
    for does, title in _TITLES.items():
        begin, end = marks(does)
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        assert found, f"the mark of {title} is missing"
        assert ended, f"the end of {title} is missing"
        text = before + begin + table(does) + end + after
    begin, end = SNIPPETS
    before, _, rest = text.partition(begin)
    return before + begin + snippets() + end + rest.partition(end)[2]


def main() -> int:
    """Compares, or writes with --update."""
    text = DOCUMENT.read_text()
    wanted = with_tables(text)
    if text != wanted and "--update" in sys.argv:
        DOCUMENT.write_text(wanted)
        return 0
    return int(text != wanted)


if __name__ == "__main__":
    raise SystemExit(main())
