"""Runs the part of the long tests whose turn it is.

Why it exists: `make test-full` takes hours. It was red for days before anyone ran it. So each run of CI plays one part
of it after `make test`, and a red part does not land.

Invariants: each long test (mark `full`) belongs to exactly one part. The parts are fixed, and the date of the commit
alone chooses one of them, so a second run of the same commit plays the same part. It must not choose by chance, and
must not leave a test out because it failed before.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from tests.second_try import ROOT
from tests.second_try import main as run_tests

LONGEST = 15 * 60
"""Seconds that a part should take on two cores. A longer part is to be divided in the table below."""


@dataclass(frozen=True, slots=True)
class Part:
    """Long tests that are run together."""

    name: str
    paths: tuple[str, ...]
    """Files and folders below `tests`."""
    share: str = "1/1"
    """`K/N`: every N-th long test of these paths, from the K-th on."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that make the tests of this part shorter or longer."""
    marked: str = "full"
    """The expression that selects tests by their marks."""


def shares(number: int, name: str, *paths: str) -> tuple[Part, ...]:
    """The long tests of these paths in `number` parts."""
    return tuple(
        Part(f"{name}, {turn} of {number}", paths, share=f"{turn}/{number}")
        for turn in range(1, number + 1)
    )


THOROUGH = (("MOONSHIFT_PROFILE", "thorough"),)
FEWER_REQUESTS = (("MOONSHIFT_TRAFFIC_REQUESTS", "120000"),)
IN_TURN = "cluster/in_turn"

PARTS = (
    *shares(5, "troubles", "trouble"),
    *shares(3, "the controller killed at every write", "kill/test_writes.py"),
    Part("deliberate defects", ("mutations",)),
    *shares(2, "workloads", "cluster/test_workloads.py"),
    *shares(2, "workloads of OpenKruise", "cluster/kruise"),
    Part("the worker killed in every call", ("kill/test_worker.py",)),
    Part("gateway kinds and replays", ("cluster/test_every_kind.py", "cluster/test_replays.py")),
    Part("faults of the API server", ("faults",)),
    Part("requests through gateways", ("traffic/test_releases.py",), environment=FEWER_REQUESTS),
    Part(
        "requests while processes end", ("traffic/test_disturbed.py",), environment=FEWER_REQUESTS
    ),
    Part(
        "a struggling plane, shards and certificates",
        ("cluster/test_struggling_plane.py", IN_TURN),
    ),
    Part(
        "demos, charts and tools of others",
        (
            *("cluster/test_demo.py", "cluster/test_demo_elsewhere.py"),
            *("cluster/test_example_chart.py", "cluster/test_krew_archive.py"),
            *("cluster/test_autoscaled.py", "cluster/test_flux.py", "cluster/test_kubevela.py"),
        ),
    ),
    *shares(3, "a real node", "node"),
    Part("the original's own tests", ("originals_suite",)),
    Part(
        "many examples of every property of a release",
        ("unit/simulation", "unit/domain/rollout", "component/runtime"),
        environment=THOROUGH,
        marked="full or not full",
    ),
    Part(
        "many examples of every property of a route",
        ("routing",),
        environment=THOROUGH,
        marked="full or not full",
    ),
)


def due(on: date) -> int:
    """The place in `PARTS` of the part whose turn it is on a day."""
    return on.toordinal() % len(PARTS)


def date_of_commit() -> date:
    """The day (UTC) of the commit that is checked out."""
    command = ("git", "log", "-1", "--format=%ct")
    seconds = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return datetime.fromtimestamp(int(seconds), UTC).date()


def arguments_of(part: Part) -> list[str]:
    """The arguments of pytest for a part."""
    paths = [str(Path("tests", path)) for path in part.paths]
    return [*paths, "-m", part.marked, f"--share={part.share}"]


def run(part: Part, headline: str, further: Sequence[str]) -> int:
    """Run a part and say how long it took. The result is the exit code."""
    _say(f"{headline}: {part.name} ({', '.join(part.paths)})")
    os.environ.update(part.environment)
    began = time.monotonic()
    code = run_tests([*arguments_of(part), *further])
    took = time.monotonic() - began
    verdict = "passed" if code == 0 else "FAILED"
    _say(f"Long tests, {part.name}: {verdict} after {took / 60:.0f} min")
    if took > LONGEST:
        _say(f"Longer than {LONGEST // 60} min: divide this part in {Path(__file__).name}.")
    return code


def main(arguments: Sequence[str]) -> int:
    """Run the part that is due, or the one that is named; list all parts if asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_parts", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print all parts and run none")
    parser.add_argument("--part", type=int, choices=range(1, len(PARTS) + 1), metavar="N")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    options = parser.parse_args(arguments)
    today = date_of_commit()
    place = due(today) if options.part is None else options.part - 1
    if options.list:
        _say("\n".join(f"{n:>3} {part.name}" for n, part in enumerate(PARTS, 1)))
        return 0
    reason = "asked for" if options.part else f"whose turn it is on {today}, the commit's date"
    headline = f"Long tests, part {place + 1} of {len(PARTS)}, {reason}"
    return run(PARTS[place], headline, options.pytest)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
