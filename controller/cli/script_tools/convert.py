"""`convert`: test cases as Lua, for a debugger.

Invariant: the output is valid Lua for every case, and equals the input that scripts get in the controller.
"""

from pathlib import Path

import click

from controller.cli.failures import ExitCode, Failure
from controller.cli.script_tools.cases import BadCase, Case, read_case
from controller.cli.script_tools.inputs import obj_of
from controller.cli.script_tools.lua_literal import lua_literal
from controller.cli.script_tools.script_folders import (
    FILE,
    INGRESS_FOLDER,
    TEST_DATA,
    Subject,
    subject_at,
    subjects_in,
)
from controller.cli.terminal import say
from controller.scripts.lookup import FOLDER, Script
from controller.scripts.modules import FOLDER as LIBRARY

DEFAULT = Path("lua_configuration")
_ENDING = "_obj.lua"


@click.command()
@click.argument("paths", metavar="[CASE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where to write; else beside each case. Use - for standard output.",
)
def convert(paths: tuple[Path, ...], out: Path | None) -> None:
    """Write test cases as Lua tables, to be pasted as the global obj into a debugger.

    CASE is a test case, or a folder of scripts; lua_configuration if none is given. For each case x.yaml there is
    x_obj.lua with the table steps: steps.step_0 is the obj of the first step.

    \b
    Example:
      moonshift convert lua_configuration/networking.istio.io/VirtualService/testdata/documented_case.yaml
    """
    bad = 0
    for path, subject in _cases(paths or (DEFAULT,)):
        case = read_case(path, subject)
        if isinstance(case, BadCase):
            say(f"error: {path}: {case.problem}", err=True)
            bad += 1
            continue
        text = as_lua(subject, subject.read(), case)
        if out is not None and str(out) == "-":
            say(text, nl=False)
            continue
        target = _folder(path, subject, paths, out) / f"{path.stem}{_ENDING}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        say(f"wrote {target}")
    if bad:
        raise SystemExit(int(ExitCode.FAILED))


def _folder(path: Path, subject: Subject, asked: tuple[Path, ...], out: Path | None) -> Path:
    """The folder of a case's file: cases of two kinds may have the same name."""
    if out is None:
        return path.parent
    return out if path in asked else out / subject.name.removesuffix(".lua")


def _cases(paths: tuple[Path, ...]) -> list[tuple[Path, Subject]]:
    found: list[tuple[Path, Subject]] = []
    for path in paths:
        if path.is_dir():
            found += [(case, subject) for subject in subjects_in(path) for case in subject.cases()]
        else:
            found.append((path, subject_of_case(path)))
    if not found:
        raise Failure(f"no test case below {', '.join(map(str, paths))}")
    return found


def subject_of_case(path: Path) -> Subject:
    """The script of a case, found by the folder of the case."""
    for folder in path.resolve().parents:
        if folder.name != TEST_DATA:
            continue
        if (folder.parent / FILE).is_file():
            return subject_at(folder.parent / FILE)
        if folder.parent.name == INGRESS_FOLDER:
            for script in sorted(folder.parent.glob("*.lua")):
                subject = subject_at(script)
                if path.resolve() in [case.resolve() for case in subject.cases()]:
                    return subject
    raise Failure(f"{path} is not in a testdata folder of a script, so its script is not known")


def as_lua(subject: Subject, script: Script, case: Case) -> str:
    """The Lua file of the case: a table with the script's input at each step."""
    lines = [
        f"-- The script's input at each step of {case.path.name}.",
        "-- To debug: paste one of these tables in front of the script, as `obj = …`, or put before it:",
        f'--   dofile("{case.name}{_ENDING}"); obj = steps.step_0',
        *_modules(script),
        "steps = {",
    ]
    for step in case.steps:
        note = "" if step.routed else " (the controller calls no script here)"
        lines.append(f"  -- {_comment(step.words)}{note}")
        obj = obj_of(subject, script, case, step)
        lines.append(f"  step_{step.number} = {lua_literal(obj, 1)},")
    return "\n".join([*lines, "}", ""])


def _modules(script: Script) -> list[str]:
    """The lines with which a plain Lua loads the modules; each module comes after the modules that it uses."""
    if not script.modules:
        return []
    files = (FOLDER / LIBRARY / f"{module.name}.lua" for module in script.modules)
    return [
        "-- The script's modules, to be put before it as well:",
        *(f'--   {path.stem} = dofile("{path.as_posix()}")' for path in files),
    ]


def _comment(words: str) -> str:
    return " ".join(words.split())
