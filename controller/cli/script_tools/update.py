"""Replaces the expected results of a case by the script's present results.

Invariant: only the value of the top-level key `expected` is replaced; every other character of the file, comments
included, stays. A case with a failing step is not changed: a failure is no expectation.
"""

from pathlib import Path

import yaml

from controller.cli.files import read_text
from controller.cli.script_tools.cases import BadCase, Case, read_case
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.evaluate import OBJECTS, evaluate
from controller.cli.script_tools.script_folders import Subject
from controller.cli.script_tools.suite import verdict
from controller.cli.script_tools.yaml_text import write_yaml
from controller.domain.decision import Refusal
from controller.domain.traffic.tree import Json, Tree

KEY = "expected"


def replaced(text: str, expected: list[Json]) -> str:
    """The file with other expectations."""
    written = f"{KEY}:\n{write_yaml(expected, sort=False)}"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    for key, value in root.value:
        if key.value == KEY:
            begin, end = key.start_mark.index, value.end_mark.index
            # A block ends where the next one begins: comments in between belong to the next.
            lines = text[begin:end].splitlines(keepends=True)
            while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
                lines.pop()
            kept = text[begin + sum(map(len, lines)) :].lstrip("\n")
            return text[:begin] + written + kept
    return text.rstrip("\n") + "\n" + written


async def update(engine: Engine, subject: Subject, wanted: str = "") -> list[Path | BadCase]:
    """Rewrite the cases of a script that expect another result; returns the written files, and the files that cannot
    be written.

    Raises WorkerUnavailable.
    """
    updated: list[Path | BadCase] = []
    script = subject.read()
    for path in subject.cases():
        if wanted.lower() not in f"{subject.name}/{path.stem}".lower():
            continue
        case = read_case(path, subject)
        if isinstance(case, BadCase):
            updated.append(case)
            continue
        results: list[Json] = []
        problem = ""
        right = len(case.expected) == len(case.steps)
        for step in case.steps:
            outcome = await evaluate(engine, script, case, step)
            present = case.expected[step.number] if step.number < len(case.expected) else None
            well = not verdict(subject, outcome.result, present)[0]
            right = right and well
            if well:
                results.append(present)
            elif isinstance(outcome.result, Refusal):
                problem = problem or f"step {step.number}: {outcome.result.message}"
            else:
                results.append(_as_object(case, outcome.result))
        if problem:
            updated.append(BadCase(path, problem))
        elif not right:
            text = replaced(read_text(path), results)
            path.write_text(text, encoding="utf-8")
            updated.append(path)
    return updated


def _as_object(case: Case, content: Tree) -> Json:
    """A whole object again, as a reader of the case wants to see it."""
    metadata = case.original.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    kept: Tree = {key: named[key] for key in ("name", "namespace") if key in named}
    kept |= {key: content[key] for key in ("labels", "annotations") if key in content}
    found: Tree = {
        key: case.original[key] for key in ("apiVersion", "kind") if key in case.original
    }
    found["metadata"] = kept
    found |= {key: content[key] for key in ("spec", OBJECTS) if key in content}
    return found
