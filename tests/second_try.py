"""Runs the tests, and tries the few that failed a second time, alone.

Why it exists: ten thousand tests, hundreds of them on real control planes, share two cores with the neighbours of the
machine. One test that met a busy moment must not hide that all others passed. A defect fails twice. A test that passes
at its second try is named as unsteady at the end, because it shows a race in the test or in the product.

Invariants: no test is left out; every first failure is printed whole before the second try; many failures, a broken
collection and an interrupted run are not tried again. It must not run tests of its own choice.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAST_FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")
FEW = 5
"""More failures than this are no busy moment."""
SOME_FAILED = 1
"""The exit code of pytest for a complete run in which a test failed."""
BASE_TEMP = "--basetemp="
AGAIN = (
    "--last-failed",
    "--last-failed-no-failures",
    "none",
    "--numprocesses",
    "0",
    "--dist",
    "no",
)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """The exit code of pytest, or of its second run if there was one. `arguments` are pytest's arguments."""
    (root / LAST_FAILED).unlink(missing_ok=True)
    code = _pytest(arguments, root)
    if code != SOME_FAILED:
        return code
    failed = failures(root)
    if not 0 < len(failed) <= FEW:
        return code
    _say(f"{len(failed)} failed; they are tried a second time, alone:", failed)
    code = _pytest([*map(_beside_the_first, arguments), *AGAIN, *_measured_before(arguments)], root)
    unsteady = [test for test in failed if test not in failures(root)]
    if unsteady:
        _say(
            "UNSTEADY: failed above and passed at the second try. Each has a race to be found:",
            unsteady,
        )
    return code


def failures(root: Path) -> list[str]:
    """The tests that failed in the last run, as pytest keeps them."""
    try:
        return sorted(json.loads((root / LAST_FAILED).read_bytes()))
    except FileNotFoundError:
        return []


def _beside_the_first(argument: str) -> str:
    """A folder of the second run's own: pytest empties the one that it is given, and the first run's is still read."""
    return f"{argument}-again" if argument.startswith(BASE_TEMP) else argument


def _measured_before(arguments: Sequence[str]) -> list[str]:
    """Where coverage is measured, that of the second run is added to the first one's."""
    return ["--cov-append"] if any(each.startswith("--cov=") for each in arguments) else []


def _pytest(arguments: Sequence[str], root: Path) -> int:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=root, check=False
    ).returncode


def _say(headline: str, tests: Sequence[str]) -> None:
    sys.stdout.write("\n".join(("", headline, *(f"  {test}" for test in tests), "")))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
