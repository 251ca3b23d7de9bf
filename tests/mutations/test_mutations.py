"""Every deliberate defect of the product makes the test that is named for it fail."""

import ast
import builtins
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from symtable import SymbolTable, symtable

import pytest

from tests.mutations.mutants import FOUND_BY_THE_MACHINE, MUTATIONS
from tests.mutations.mutation import ROOT, Mutation, mutated, source_of
from tests.mutations.noticed import NOTICED_BY
from tests.mutations.parsing import parsed
from tests.mutations.rooms import FEWEST, ROOMS, SINGLE, counted
from tests.mutations.runner import selected

LIMIT = 900


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_names_a_function_that_exists_and_changes_it(mutation: Mutation) -> None:
    before = parsed(source_of(mutation).read_text(encoding="utf-8"))
    after = mutated(mutation)
    assert ast.dump(after) != ast.dump(before)
    compile(after, mutation.module, "exec")
    compile(ast.unparse(after), mutation.module, "exec")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_uses_names_that_its_module_has(mutation: Mutation) -> None:
    """Another name fails every test, and would look like a defect that is noticed."""
    changed = symtable(ast.unparse(mutated(mutation)), mutation.module, "exec")
    known = set(changed.get_identifiers()) | set(dir(builtins)) | {"__file__", "__name__"}
    assert globals_of(changed) <= known


def globals_of(table: SymbolTable) -> set[str]:
    """The names that a module's functions and classes take from the module."""
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return own.union(*map(globals_of, table.get_children()))


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 24


def test_every_room_that_decides_or_writes_has_some() -> None:
    found = counted(MUTATIONS)
    assert [room for room in ROOMS if found[room] < FEWEST and room not in SINGLE] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_list_names_the_test_that_notices_each_mutation(mutation: Mutation) -> None:
    assert mutation.name in NOTICED_BY or all("::" in test for test in mutation.tests)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_tests_that_a_mutation_names_exist(mutation: Mutation) -> None:
    for named in mutation.tests:
        file, _, test = named.partition("::")
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {test.partition('[')[0]}" in source, named


def run(*arguments: str) -> list[dict[str, str]]:
    """The result of each mutation."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutations.runner", *arguments],
        cwd=ROOT,
        # Options of the person who runs this test would change the output that the runner reads.
        env={**os.environ, "MOONSHIFT_FIND_ONLY": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.full
def test_random_releases_alone_find_ten_of_them() -> None:
    answers = run("--machine")
    assert {answer["name"] for answer in answers} == FOUND_BY_THE_MACHINE
    assert len(FOUND_BY_THE_MACHINE) >= 10
    assert [answer["name"] for answer in answers if not answer["caught"]] == []


def test_the_sample_has_mutations_of_every_room() -> None:
    found = counted(selected(["--sample"]))
    assert [room for room in ROOMS if not found[room]] == []


def test_a_sample_of_mutations_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    assert survivors(run("--sample"), selected(["--sample"]), capsys) == []


@pytest.mark.full
def test_every_mutation_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    assert survivors(run(), MUTATIONS, capsys) == []


def survivors(
    answers: list[dict[str, str]],
    tried: Sequence[Mutation],
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """Print which test caught each; the mutations that no test caught, and those that were not tried."""
    wide = max(len(mutation.name) for mutation in tried)
    with capsys.disabled():
        rows = [f"{a['name']:<{wide}}  {a['caught'] or 'SURVIVED'}" for a in answers]
        sys.stdout.write("\n" + "\n".join(rows) + "\n")
    untried = {mutation.name for mutation in tried} - {a["name"] for a in answers}
    return [*sorted(untried), *(f"{a['name']}:\n{a['said']}" for a in answers if not a["caught"])]
