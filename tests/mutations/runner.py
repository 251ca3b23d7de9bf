"""Runs tests against one mutated module at a time, each in a forked process of its own; nothing on disk is touched.

Most mutations change functions only: they are brought into a fork of a process that has imported the domain and its
tests. The others (a table, say) are brought in while the module is imported, in forks made before that. Started as a
program, because those forks must come before anything of `controller` is imported:
`python -m tests.mutations.runner [--machine | --sample | --only WORDS]` prints one JSON line per mutation.
"""

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from types import CodeType, ModuleType

import hypothesis  # noqa: F401  imported once, before the forks
import msgspec  # noqa: F401
import pytest

from tests.mutations.copied import copied
from tests.mutations.exchange import changes_functions_only, exchange
from tests.mutations.mutants import FOUND_BY_THE_MACHINE, MUTATIONS
from tests.mutations.mutation import MACHINE, ROOT, Mutation, mutated, source_of
from tests.mutations.noticed import NOTICED_BY

TESTS = ROOT / "tests"
QUIET = (
    *("-x", "-q", "--no-header", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:cov"),
    "--hypothesis-seed=0",
    # Hypothesis is imported before the forks, so pytest comes too late to rewrite it.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
WORKERS = 2
SAMPLED = 12
"""`make test` tries one mutation in this number; a whole run takes minutes on two cores."""


class _MutatedLoader(importlib.machinery.SourceFileLoader):
    """Compiles the changed tree; the byte code on disk is not looked at."""

    def __init__(self, mutation: Mutation) -> None:
        super().__init__(mutation.module, str(source_of(mutation)))
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutated(self._mutation), self.path, "exec")


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


def _import_mutated(mutation: Mutation) -> None:
    """From here on the module is imported as the mutation has it."""
    sys.meta_path.insert(0, _Mutating(mutation))


def _files(mutations: Iterable[Mutation]) -> list[str]:
    named = {name.partition("::")[0] for mutation in mutations for name in mutation.tests}
    return sorted(str(TESTS / name) for name in named)


def _import_tests(mutations: Iterable[Mutation]) -> None:
    """Import what the mutations' tests need, once for all forks."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = pytest.main([*QUIET, "--collect-only", *_files(mutations)])
    assert code == 0, output.getvalue()


def _run(mutation: Mutation) -> dict[str, str]:
    """Run the mutation's tests in this process: the test that failed first, and pytest's message."""
    known = _where_it_is_noticed(mutation)
    answer = _tried(mutation, [known]) if known else None
    if answer is not None and answer["caught"]:
        return answer
    answer = _tried(mutation, [str(TESTS / name) for name in mutation.tests])
    if answer["caught"] and mutation.tests != (MACHINE,):
        answer["caught"] += (
            " (after all tests before it: tests/mutations/noticed.py does not name it)"
        )
    return answer


def _where_it_is_noticed(mutation: Mutation) -> str:
    """The one test that is known to notice it; empty if none is."""
    test = NOTICED_BY.get(mutation.name, "")
    files = (TESTS / name for name in mutation.tests)
    found = [file for file in files if test and f"def {test}(" in file.read_text(encoding="utf-8")]
    return f"{found[0]}::{test}" if found else ""


def _tried(mutation: Mutation, where: Sequence[str]) -> dict[str, str]:
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = pytest.main([*QUIET, *where])
    # A captured line of a log begins with ERROR as well.
    failed = [
        line
        for line in output.getvalue().splitlines()
        if line.startswith(("FAILED tests/", "ERROR tests/"))
    ]
    caught = failed[0].split(" ")[1].rpartition("::")[2] if code == 1 and failed else ""
    return {"name": mutation.name, "caught": caught, "said": output.getvalue()[-2000:]}


def _forked(mutation: Mutation, bring_in: Callable[[Mutation], None]) -> tuple[int, int]:
    """Start a mutation's tests in a child; its process id and the end to read its answer from."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    bring_in(mutation)
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
    """All mutations against their own tests, or those that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.runner")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--sample", action="store_true", help=f"one in {SAMPLED}")
    choice.add_argument(
        "--machine", action="store_true", help="those that random releases must find, with these"
    )
    choice.add_argument("--only", metavar="WORDS", help="those with these words in their name")
    asked = parser.parse_args(arguments)
    if asked.sample:
        return MUTATIONS[::SAMPLED]
    if asked.machine:
        found = (mutation for mutation in MUTATIONS if mutation.name in FOUND_BY_THE_MACHINE)
        return tuple(mutation._replace(tests=(MACHINE,)) for mutation in found)
    return tuple(mutation for mutation in MUTATIONS if (asked.only or "") in mutation.name)


def _side_by_side(mutations: Iterable[Mutation], bring_in: Callable[[Mutation], None]) -> None:
    """A few at a time; children that answer late are read in their turn."""
    running: list[tuple[int, int]] = []
    for mutation in mutations:
        if len(running) == WORKERS:
            _collect(running.pop(0))
        running.append(_forked(mutation, bring_in))
    for last in running:
        _collect(last)


def _exchange(mutation: Mutation) -> None:
    """In this process, and in those that tests start from here."""
    if mutation.module.startswith("luaworker."):
        copied(mutation)
    if mutation.module in sys.modules or not mutation.module.startswith("luaworker."):
        exchange(mutation)


def main() -> None:
    """Mutations of code that runs at import come first: their forks must not have imported any module of the domain."""
    chosen = selected(sys.argv[1:])
    of_functions = [mutation for mutation in chosen if changes_functions_only(mutation)]
    _side_by_side((each for each in chosen if each not in of_functions), _import_mutated)
    _import_tests(of_functions)
    _side_by_side(of_functions, _exchange)


if __name__ == "__main__":
    main()
