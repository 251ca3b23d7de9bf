"""The original's specs as one program, compiled from the module that the Go proxy has.

Why it exists: the original's tests are the best description of a drop-in replacement. Invariant: `go.sum`
pins every file, so nothing of the specs is changed; the program is kept in the cache like the cluster's own. It must
not run anything.
"""

from pathlib import Path

from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.progress import Reporter

VERSION = "0.6.3"
MODULE = "github.com/openkruise/rollouts"
FOLDER = "test/e2e"
SUITE = Extra(
    "originals-suite",
    Program(
        Path(__file__).parent / "module",
        f"{MODULE}/{FOLDER}",
        f"the tests of OpenKruise Rollouts {VERSION}",
        is_test=True,
    ),
    {MODULE: (f"{FOLDER}/test_data", "LICENSE")},
)


async def ensure_suite(reporter: Reporter) -> BuiltExtra:
    """Return the program and its manifests, building it unless the cache has it: minutes, the first time."""
    return await ensure_extra(SUITE, reporter)


def manifests(suite: BuiltExtra) -> Path:
    """Return the folder of the suite's manifests."""
    return suite.source(MODULE, f"{FOLDER}/test_data")
