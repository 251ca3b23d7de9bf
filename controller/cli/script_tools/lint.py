"""Mistakes in a script that its test cases do not show.

Errors are defects that the controller would refuse or suffer from: text that does not compile, unknown modules, answers
that differ from run to run, wrong sums of weights, invented destinations, lost rules, false claims. Notes are remarks
of a careful reader. Invariant: every finding has a line; nothing is an error for style.
"""

from collections.abc import Iterator

from controller.cli.files import read_text
from controller.cli.script_tools.cases import BadCase, Case, read_case
from controller.cli.script_tools.claims import CLAIMS
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.exchange_lint import KEYWORDS as ASKING_WORDS
from controller.cli.script_tools.exchange_lint import lint_asking
from controller.cli.script_tools.lua_syntax import NotLua, syntax_of
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import ROUTE, Subject
from controller.cli.script_tools.trial import Trial
from controller.domain.traffic.plan.dialects import DIALECTS
from controller.scripts.lookup import FOLDER, MissingScript, Script
from controller.scripts.modules import Modules
from controller.scripts.script_outcome import Refused

KEYWORDS = (
    "name",
    "after",
    "siblings",
    "can",
    "announce",
    "use",
    "same-as",
    "regex",
    *ASKING_WORDS,
)
# fmt: off
WORLD = frozenset(
    {
        "assert", "error", "getmetatable", "setmetatable", "ipairs", "next", "pairs",
        "pcall", "xpcall", "rawequal", "rawget", "rawset", "select", "tonumber", "tostring",
        "type", "unpack", "loadstring", "load", "print", "collectgarbage", "getfenv",
        "setfenv", "math", "string", "table", "json", "_VERSION", "_G", "obj",
    }
)
# fmt: on
"""Globals that the sandbox has."""


async def lint(engine: Engine, subject: Subject) -> list[Finding]:
    """All findings, by line. Raises WorkerUnavailable and OSError."""
    script = subject.complete()
    if isinstance(script, MissingScript):
        line = _line_with(read_text(subject.path, errors="replace"), ("--@use", "--@same-as"))
        return [Finding(line, "error", script.reason)]
    compiled = await engine.validate(script)
    if isinstance(compiled, Refused):
        return [Finding(max(1, compiled.line), "error", _without_position(compiled, script))]
    findings = [*_header_findings(script.header_text)]
    if not script.about:
        findings += _global_findings(script)
    if subject.does != ROUTE:
        return sorted({*findings, *await lint_asking(engine, subject, script)})
    cases = [read_case(path, subject) for path in subject.cases()]
    usable = [case for case in cases if isinstance(case, Case)]
    findings += [
        Finding(1, "error", f"{case.path}: {case.problem}")
        for case in cases
        if isinstance(case, BadCase)
    ]
    if not usable:
        findings.append(
            Finding(1, "note", "no test data: neither the script nor its claims were tested")
        )
        return sorted(findings)
    trial = Trial(engine, subject, script)
    findings += await trial.cases(usable)
    findings += await trial.claims(usable)
    findings += await trial.repetition(usable)
    return sorted(set(findings))


# --- the text ----------------------------------------------------------------------------------------


def _without_position(refused: Refused, script: Script) -> str:
    """The engine's message without the name and line that the finding has already."""
    prefix = f"{script.name}:{refused.line}:"
    return refused.message.removeprefix(prefix).strip() or refused.code


def _header_findings(text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare and not bare.startswith("--"):
            return
        if not bare.startswith("--@"):
            continue
        keyword, _, rest = bare.removeprefix("--@").partition(" ")
        if keyword not in KEYWORDS:
            yield Finding(number, "note", f"--@{keyword} is unknown; known: {', '.join(KEYWORDS)}")
        if keyword == "can":
            for word in rest.replace(",", " ").split():
                if word not in CLAIMS:
                    unknown = f"--@can {word} is unknown; known: {', '.join(CLAIMS)}"
                    yield Finding(number, "note", unknown)
        dialect = (*rest.split(), "")[0]
        if keyword == "regex" and dialect not in DIALECTS:
            known = ", ".join(sorted(DIALECTS))
            yield Finding(number, "note", f"--@regex {dialect} is unknown; known: {known}")


def _line_with(text: str, beginnings: tuple[str, ...]) -> int:
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if line.strip().startswith(beginnings)), 1)


def _global_findings(script: Script) -> Iterator[Finding]:
    """The first use of every global name that the sandbox does not have, and unknown modules."""
    text = script.text.decode(errors="replace")
    try:
        uses = syntax_of(script.text).globals
    except (NotLua, RecursionError):
        return
    assigned = {use.name for use in uses if use.assigned}
    asked = frozenset(script.header.uses)
    for name in sorted(asked - {use.name for use in uses}):
        yield Finding(
            _line_with(text, ("--@use",)), "note", f"--@use {name} is not needed: nothing uses it"
        )
    library = frozenset(Modules.read(FOLDER).names)
    reported: set[str] = set()
    for use in sorted(uses, key=lambda use: use.line):
        if use.name in reported:
            continue
        if use.assigned:
            reported.add(use.name)
            yield Finding(use.line, "note", f"assigns the global {use.name}; local keeps it here")
        elif use.name not in WORLD | assigned | asked:
            reported.add(use.name)
            advice = f"; --@use {use.name} asks for it" if use.name in library else ""
            # A script that asks first whether the name has a value may call it.
            if all(one.called for one in uses if one.name == use.name):
                calls = f"calls the global {use.name}, which nobody sets{advice}"
                yield Finding(use.line, "error", calls)
            else:
                reads = f"reads the global {use.name}, which nobody sets{advice}"
                yield Finding(use.line, "note", reads)
