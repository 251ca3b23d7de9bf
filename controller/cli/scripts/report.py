"""What people read about test cases: one line per step, a difference where something is wrong, coverage, a sum.

Invariant: a line that says `ok` is about a step that ran and gave exactly what is expected.
"""

import click

from controller.cli.scripts.coverage import Coverage, as_ranges
from controller.cli.scripts.suite import Check, Report

_INDENT = " " * 8
_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def report_lines(report: Report) -> list[str]:
    """All about one script."""
    lines = [click.style(report.subject.name, bold=True)]
    width = max((len(check.name) for check in report.checks), default=0)
    for check in report.checks:
        lines += _check_lines(check, width)
    if report.coverage is not None:
        lines.append(f"  {coverage_words(report.coverage)}")
    return lines


def _check_lines(check: Check, width: int) -> list[str]:
    verdict = click.style("FAIL", fg="red") if check.problem else click.style("ok  ", fg="green")
    line = f"  {verdict}  {check.name:<{width}}  {check.words}".rstrip()
    if not check.problem:
        return [line]
    lines = [line, *(_INDENT + part for part in check.problem.splitlines())]
    lines += [_INDENT + _coloured(part) for part in check.diff]
    if check.log:
        lines += [f"{_INDENT}it printed:", *(f"{_INDENT}  {part}" for part in check.log)]
    return lines


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def coverage_words(coverage: Coverage) -> str:
    """Share of statements, and the lines of those that never ran."""
    if not coverage.statements or (coverage.unmeasured and not coverage.hit):
        return "coverage: could not be measured"
    said = f"coverage: {coverage.percent} % of {len(coverage.statements)} statements"
    if coverage.missed_lines:
        said += f", not in line {as_ranges(coverage.missed_lines)}"
    if coverage.unmeasured:
        said += f" ({coverage.unmeasured} calls could not be measured)"
    return said


def summary(reports: list[Report], seconds: float) -> str:
    """One line about everything."""
    checks = [check for report in reports for check in report.checks]
    failed = sum(bool(check.problem) for check in checks)
    steps = sum(check.step is not None for check in checks)
    text = f"{_count(len(reports), 'script')}, {_count(steps, 'step')}: "
    if not checks:
        return click.style("no test case fits", fg="red")
    text += f"{failed} failed, {len(checks) - failed} passed" if failed else "all passed"
    return click.style(f"{text} ({seconds:.1f} s)", fg="red" if failed else "green")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
