"""How much Lua is packaged: `make stats`. A test holds it to these bounds."""

import statistics
import sys

from controller.cli.script_tools.script_folders import ASKING
from controller.scripts.modules import FOLDER as LIBRARY
from tests.unit.lua_configuration.cases import FOLDER

MOST_IN_ALL = 6600
MOST_IN_ONE = 290
MEDIAN = 60
FOR_ASKING = frozenset({"events", "exchange"})
"""Modules of scripts that ask, counted with these."""
MOST_IN_ALL_THAT_ASK = 1300
MOST_IN_ONE_THAT_ASKS = 40
MEDIAN_OF_THOSE_THAT_ASK = 25


def lines() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Lines of every script of a gateway, of every module for them, and of scripts that ask with their modules, by
    path."""
    scripts: dict[str, int] = {}
    modules: dict[str, int] = {}
    asking: dict[str, int] = {}
    for path in sorted(FOLDER.rglob("*.lua")):
        count = len(path.read_text().splitlines())
        kind = modules if path.parent.name == LIBRARY else scripts
        if path.parent.name in ASKING or (kind is modules and path.stem in FOR_ASKING):
            kind = asking
        kind[path.relative_to(FOLDER).as_posix()] = count
    return scripts, modules, asking


def problems() -> list[str]:
    """Which bounds are exceeded."""
    scripts, modules, asking = lines()
    total = sum(scripts.values()) + sum(modules.values())
    median = statistics.median(scripts.values())
    everything = scripts | modules | asking
    long = [path for path, count in everything.items() if count > MOST_IN_ONE]
    found = [f"{path} has more than {MOST_IN_ONE} lines" for path in long]
    if total > MOST_IN_ALL:
        found.append(f"{total} lines in all, more than {MOST_IN_ALL}")
    if sum(asking.values()) > MOST_IN_ALL_THAT_ASK:
        found.append(f"scripts that ask have more than {MOST_IN_ALL_THAT_ASK} lines in all")
    for path, count in asking.items():
        if count > MOST_IN_ONE_THAT_ASKS and not path.startswith(LIBRARY):
            found.append(f"{path} has more than {MOST_IN_ONE_THAT_ASKS} lines")
    if statistics.median(asking.values()) > MEDIAN_OF_THOSE_THAT_ASK:
        found.append(
            f"a script that asks has more than {MEDIAN_OF_THOSE_THAT_ASK} lines in the median"
        )
    if median > MEDIAN:
        found.append(f"a script has {median:g} lines in the median, more than {MEDIAN}")
    return found


def main() -> int:
    """Prints the counts; 1 if a bound is exceeded."""
    scripts, modules, asking = lines()
    titles = {"scripts": scripts, "modules of the library": modules, "scripts that ask": asking}
    for title, counts in titles.items():
        for path, count in sorted(counts.items(), key=lambda item: item[1]):
            sys.stdout.write(f"{count:6} {path}\n")
        median = statistics.median(counts.values())
        sys.stdout.write(
            f"{len(counts)} {title}: {sum(counts.values())} lines, median {median:g}, "
            f"longest {max(counts.values())}\n\n"
        )
    sys.stdout.write(f"{sum(scripts.values()) + sum(modules.values())} lines in all\n")
    for problem in problems():
        sys.stdout.write(f"{problem}\n")
    return int(bool(problems()))


if __name__ == "__main__":
    raise SystemExit(main())
