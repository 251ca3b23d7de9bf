"""Every deliberate defect of the domain makes a test fail: the tests would notice if the real thing broke."""

import json
import subprocess
import sys

import pytest

from tests.mutations.mutants import MUTATIONS, Mutation
from tests.mutations.runner import ROOT, source_of

LIMIT = 240


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_a_mutation_replaces_is_there_once(mutation: Mutation) -> None:
    source = source_of(mutation).read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1
    compile(source.replace(mutation.old, mutation.new), mutation.module, "exec")


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 24


@pytest.mark.timeout(LIMIT)
def test_every_mutation_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutations.runner"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wide = max(len(mutation.name) for mutation in MUTATIONS)
    with capsys.disabled():
        rows = [f"{a['name']:<{wide}}  {a['caught'] or 'SURVIVED'}" for a in answers]
        sys.stdout.write("\n" + "\n".join(rows) + "\n")
    assert [answer["name"] for answer in answers] == [mutation.name for mutation in MUTATIONS]
    survived = [f"{a['name']}:\n{a['said']}" for a in answers if not a["caught"]]
    assert not survived, "\n".join(survived)
