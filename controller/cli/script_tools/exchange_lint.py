"""Mistakes in a script that asks: its header against the names in its text and the requests in its cases.

Invariant: an error is something that the controller would refuse, or a name that would always be nil; anything that
may be on purpose is a note. A script that takes parameters or secrets by computed names is not judged by them.
"""

import re
from collections.abc import Iterable, Iterator

from controller.cli.script_tools.cases import BadCase
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.exchange_cases import AskingCase, read_exchanges
from controller.cli.script_tools.exchange_trial import run_case
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import Subject
from controller.domain.exchange.answer import Does
from controller.domain.exchange.declared import GET, secrets_of
from controller.domain.exchange.request import Signature
from controller.domain.traffic.plan.header import Declared, ScriptHeader
from controller.scripts.lookup import Script

KEYWORDS = ("does", "asks", "secrets", "params", "sign", "docs")
"""Header lines of scripts that ask, in addition to those of every script."""
_USE = re.compile(r"\bobj\.(params|secrets)\b(?:\.(\w+)|\[\"(\w+)\"\])?")
_TAKES = {"params": "parameter", "secrets": "secret"}
_SCHEMES = ("http", "https", GET)


async def lint_asking(engine: Engine, subject: Subject, script: Script) -> list[Finding]:
    """All findings about the contract. Raises WorkerUnavailable and OSError."""
    header, text = script.header, script.text.decode(errors="replace")
    found = [*_header_findings(subject, header, text), *_name_findings(header, text)]
    read = [read_exchanges(path) for path in subject.cases()]
    found += [
        Finding(1, "error", f"{case.path}: {case.problem}")
        for case in read
        if isinstance(case, BadCase)
    ]
    cases = [case for case in read if isinstance(case, AskingCase)]
    if not cases:
        return [*found, Finding(1, "note", "no test data: nothing of what it asks was tested")]
    for case in cases:
        ran = await run_case(engine, script, Does(subject.does), case)
        if ran.problem:
            found.append(Finding(1, "error", f"{ran.problem} ({case.name})"))
    return [*found, *_case_findings(header, text, cases)]


def _header_findings(subject: Subject, header: ScriptHeader, text: str) -> Iterator[Finding]:
    if header.does != subject.does:
        says = f"says --@does {header.does}" if header.does else "has no --@does line"
        yield Finding(
            _line(text, "--@does"),
            "error",
            f"the script {says}, and its folder is {subject.does}: --@does {subject.does}",
        )
    for scheme in header.asks:
        if scheme not in _SCHEMES:
            unknown = f"--@asks {scheme} is unknown; known: {', '.join(_SCHEMES)}"
            yield Finding(_line(text, "--@asks"), "error", unknown)
    if header.signature and header.signature not in tuple(Signature):
        unknown = f"--@sign {header.signature} is unknown; known: {', '.join(Signature)}"
        yield Finding(_line(text, "--@sign"), "error", unknown)
    if not header.docs:
        yield Finding(
            1, "note", "no --@docs line: say on which page of the vendor the requests are"
        )


def _name_findings(header: ScriptHeader, text: str) -> Iterator[Finding]:
    """Names that are used and not declared, or declared and not used."""
    declared = {"params": header.params, "secrets": secrets_of(header)}
    added = {one.name for one in secrets_of(header)} - {one.name for one in header.secrets}
    for part, what in _TAKES.items():
        used, computed = _used(text, part)
        known = {one.name for one in declared[part]}
        for name, line in used.items():
            if name not in known:
                words = f"uses the {what} {name}, which the header does not name: --@{part} {name}"
                yield Finding(line, "error", words)
        for name in sorted(known - used.keys() - added if not computed else ()):
            unused = f"--@{part} {name} is not needed: nothing uses it"
            yield Finding(_line(text, f"--@{part}"), "note", unused)


def _used(text: str, part: str) -> tuple[dict[str, int], bool]:
    """Names with the first line of each, and whether others are computed."""
    found: dict[str, int] = {}
    computed = False
    for number, line in enumerate(text.splitlines(), 1):
        for use in _USE.finditer(line.partition("--")[0]):
            name = use[2] or use[3]
            if use[1] == part and name:
                found.setdefault(name, number)
            computed = computed or (use[1] == part and not name)
    return found, computed


def _case_findings(header: ScriptHeader, text: str, cases: list[AskingCase]) -> Iterator[Finding]:
    """Names of the header that no case shows."""
    shown = {
        "--@asks": _shown_schemes(cases),
        "--@secrets": {name for case in cases for name in case.secrets},
        "--@params": {name for case in cases for name in case.params},
    }
    declared = {
        "--@asks": header.asks,
        "--@secrets": _names(header.secrets),
        "--@params": _names(header.params),
    }
    for keyword, names in declared.items():
        for name in names:
            if name not in shown[keyword]:
                yield Finding(_line(text, keyword), "note", f"{keyword} {name}: no case shows it")


def _shown_schemes(cases: list[AskingCase]) -> set[str]:
    """A script whose address is a parameter asks by http and by https in one way."""
    found = {scheme for case in cases for scheme in _schemes(case)}
    return found | {"http", "https"} if found & {"http", "https"} else found


def _names(declared: Iterable[Declared]) -> tuple[str, ...]:
    return tuple(one.name for one in declared)


def _schemes(case: AskingCase) -> Iterator[str]:
    for exchange in case.exchanges:
        for request in exchange.requests:
            yield GET if GET in request else str(request.get("url")).partition(":")[0]


def _line(text: str, beginning: str) -> int:
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if line.strip().startswith(beginning)), 1)
