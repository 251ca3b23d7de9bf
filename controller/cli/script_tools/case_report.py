"""The report about test cases: one line per step, the difference of a failed step, coverage, totals.

Invariant: a line that says `ok` is about a step that ran and gave exactly what is expected.
"""

from rich.text import Text

from controller.cli.script_tools.coverage import Coverage, as_ranges
from controller.cli.script_tools.suite import Check, Report

_INDENT = " " * 8
_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def report_lines(report: Report) -> list[Text]:
    """All about one script."""
    lines = [Text(report.subject.name, style="bold")]
    width = max((len(check.name) for check in report.checks), default=0)
    for check in report.checks:
        lines += _check_lines(check, width)
    if report.coverage is not None:
        lines.append(Text(f"  {coverage_words(report.coverage)}"))
    return lines


def _check_lines(check: Check, width: int) -> list[Text]:
    verdict = ("FAIL", "red") if check.problem else ("ok  ", "green")
    line = Text.assemble("  ", verdict, f"  {check.name:<{width}}  {check.words}".rstrip())
    if not check.problem:
        return [line]
    lines = [line, *(Text(_INDENT + part) for part in check.problem.splitlines())]
    lines += [Text(_INDENT).append(part, _COLOURS.get(part[:1])) for part in check.diff]
    if check.log:
        lines.append(Text(f"{_INDENT}it printed:"))
        lines += [Text(f"{_INDENT}  {part}") for part in check.log]
    return lines


def coverage_words(coverage: Coverage) -> str:
    """Share of statements, and the lines of those that never ran."""
    if not coverage.statements or (coverage.unmeasured and not coverage.hit):
        return "coverage: could not be measured"
    text = f"coverage: {coverage.percent} % of {len(coverage.statements)} statements"
    if coverage.missed_lines:
        text += f", not in line {as_ranges(coverage.missed_lines)}"
    if coverage.unmeasured:
        text += f" ({coverage.unmeasured} calls could not be measured)"
    return text


def summary(reports: list[Report], seconds: float) -> Text:
    """One line about everything."""
    checks = [check for report in reports for check in report.checks]
    failed = sum(bool(check.problem) for check in checks)
    steps = sum(check.step is not None for check in checks)
    cases = sum(check.turns is not None for check in checks)
    parts = [
        _count(len(reports), "script"),
        *([_count(steps, "step")] if steps or not cases else []),
    ]
    parts += [_count(cases, "case") + " with exchanges"] if cases else []
    text = f"{', '.join(parts)}: "
    if not checks:
        return Text("no test case fits", style="red")
    text += f"{failed} failed, {len(checks) - failed} passed" if failed else "all passed"
    return Text(f"{text} ({seconds:.1f} s)", style="red" if failed else "green")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
