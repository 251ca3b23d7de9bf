"""Parts that scripts have in common, word by word.

A script is one text without `require`, so what several need stands in each of them, between `-- shared: <name>` and
`-- end`. `python -m tests.unit.lua_configuration.shared <script>` carries the parts of one script into all others.
"""

import re
import sys
from pathlib import Path

from tests.unit.lua_configuration.capabilities import scripts

_PART = re.compile(r"^-- shared: ([^\n]+)\n(.*?)^-- end\n", re.MULTILINE | re.DOTALL)


def parts_of(text: str) -> dict[str, str]:
    """The shared parts of a script by name."""
    return {match[1]: match[2] for match in _PART.finditer(text)}


def with_parts(text: str, parts: dict[str, str]) -> str:
    """A script with other texts for the parts it has."""

    def replaced(match: re.Match[str]) -> str:
        return f"-- shared: {match[1]}\n{parts.get(match[1], match[2])}-- end\n"

    return _PART.sub(replaced, text)


def main() -> int:
    """Carries the parts of one script into the others."""
    parts = parts_of(Path(sys.argv[1]).read_text())
    for path in scripts():
        text = path.read_text()
        if (wanted := with_parts(text, parts)) != text:
            path.write_text(wanted)
            print(path)  # noqa: T201  # a command
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
