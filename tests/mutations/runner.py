"""Runs tests against one mutated module at a time, each in a forked process of its own.

The replacement happens while the module is imported: nothing on disk is touched. Started as a program, because a
fork must come before anything of `controller` is imported: `python -m tests.mutations.runner [--machine]` prints
one JSON line per mutation.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, ModuleType

import hypothesis  # noqa: F401  imported once, before the forks
import msgspec  # noqa: F401
import pytest

from tests.mutations.mutants import FOUND_BY_THE_MACHINE, MUTATIONS
from tests.mutations.mutation import MACHINE, Mutation

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "unit" / "domain"
QUIET = (
    *("-x", "-q", "--no-header", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:cov"),
    "--hypothesis-seed=0",
    # Hypothesis is imported before the forks, so pytest comes too late to rewrite it.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
WORKERS = 2


def source_of(mutation: Mutation) -> Path:
    """The file a mutation changes."""
    return ROOT.joinpath(*mutation.module.split(".")).with_suffix(".py")


class _MutatedLoader(importlib.machinery.SourceFileLoader):
    """Compiles the changed source; the byte code on disk is not looked at."""

    def __init__(self, mutation: Mutation) -> None:
        super().__init__(mutation.module, str(source_of(mutation)))
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(source.replace(self._mutation.old, self._mutation.new), self.path, "exec")


class _Mutating(importlib.abc.MetaPathFinder):
    """Finds the one mutated module; all others are found as usual."""

    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutation.module:
            return None
        return importlib.util.spec_from_loader(fullname, _MutatedLoader(self._mutation))


def _run(mutation: Mutation) -> dict[str, str]:
    """Run the mutation's tests in this process: the test that failed first, and what pytest said."""
    sys.meta_path.insert(0, _Mutating(mutation))
    said = io.StringIO()
    files = [str(TESTS / name) for name in mutation.tests]
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main([*QUIET, *files])
    failed = [line for line in said.getvalue().splitlines() if line.startswith(("FAILED", "ERROR"))]
    caught = failed[0].split(" ")[1].rpartition("::")[2] if code == 1 and failed else ""
    return {"name": mutation.name, "caught": caught, "said": said.getvalue()[-2000:]}


def _forked(mutation: Mutation) -> tuple[int, int]:
    """Start a mutation's tests in a child; its process id and the end to read its answer from."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    with os.fdopen(writing, "w") as answer:
        json.dump(_run(mutation), answer)
    os._exit(0)


def _collect(running: tuple[int, int]) -> None:
    child, reading = running
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def selected(arguments: Sequence[str]) -> tuple[Mutation, ...]:
    """All mutations against their own tests; with `--machine` those that random releases alone must find."""
    if "--machine" not in arguments:
        return MUTATIONS
    found = (mutation for mutation in MUTATIONS if mutation.name in FOUND_BY_THE_MACHINE)
    return tuple(mutation._replace(tests=(MACHINE,)) for mutation in found)


def main() -> None:
    """The mutations, a few at a time; children that answer late are read in their turn."""
    running: list[tuple[int, int]] = []
    for mutation in selected(sys.argv[1:]):
        if len(running) == WORKERS:
            _collect(running.pop(0))
        running.append(_forked(mutation))
    for last in running:
        _collect(last)


if __name__ == "__main__":
    main()
