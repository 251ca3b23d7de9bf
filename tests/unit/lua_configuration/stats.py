"""How much Lua is packaged: `make stats`. A test holds it to these bounds."""

import statistics
import sys

from controller.scripts.modules import FOLDER as LIBRARY
from tests.unit.lua_configuration.cases import FOLDER

MOST_IN_ALL = 6800
MOST_IN_ONE = 290
MEDIAN = 60


def lines() -> tuple[dict[str, int], dict[str, int]]:
    """Lines of every script, and of every module of the library, by path."""
    scripts: dict[str, int] = {}
    modules: dict[str, int] = {}
    for path in sorted(FOLDER.rglob("*.lua")):
        count = len(path.read_text().splitlines())
        kind = modules if path.parent.name == LIBRARY else scripts
        kind[path.relative_to(FOLDER).as_posix()] = count
    return scripts, modules


def problems() -> list[str]:
    """Which bounds are exceeded."""
    scripts, modules = lines()
    total = sum(scripts.values()) + sum(modules.values())
    median = statistics.median(scripts.values())
    long = [path for path, count in (scripts | modules).items() if count > MOST_IN_ONE]
    found = [f"{path} has more than {MOST_IN_ONE} lines" for path in long]
    if total > MOST_IN_ALL:
        found.append(f"{total} lines in all, more than {MOST_IN_ALL}")
    if median > MEDIAN:
        found.append(f"a script has {median:g} lines in the median, more than {MEDIAN}")
    return found


def main() -> int:
    """Prints the counts; 1 if a bound is exceeded."""
    scripts, modules = lines()
    for title, counts in (("scripts", scripts), ("modules of the library", modules)):
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
