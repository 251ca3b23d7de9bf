"""The table of Rollouts."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from controller.cli.render.words import age, step_of, style_of
from controller.cli.views.view import Summary

_PROSE = {"WAITS FOR": 24, "MESSAGE": 24}
"""Columns of sentences, which may be broken between words, and how narrow they may become."""


def plain_table(*headers: str) -> Table:
    """Columns without lines, as kubectl prints them."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def rollouts_table(
    rows: Sequence[Summary], now: datetime, *, namespaces: bool = False, wide: bool = False
) -> Table:
    """One line for each Rollout."""
    headers = ["NAME", "PHASE", "STEP", "STATE", "NEW READY", "SINCE", "WAITS FOR", "AGE"]
    if namespaces:
        headers.insert(0, "NAMESPACE")
    if wide:
        headers += ["WORKLOAD", "STABLE", "NEW", "MESSAGE"]
    table = plain_table(*headers)
    for row in rows:
        cells: list[str | Text] = [
            row.name,
            row.phase or "-",
            step_of(row),
            row.state or "-",
            f"{row.canary_ready_replicas}/{row.canary_replicas}",
            age(row.since, now),
            Text(row.waits_for, style=style_of(row)),
            age(row.created, now),
        ]
        if namespaces:
            cells.insert(0, row.namespace)
        if wide:
            cells += [
                row.workload,
                row.stable_revision or "-",
                row.canary_revision or "-",
                row.message,
            ]
        table.add_row(*cells)
    for column in table.columns:
        header = str(column.header)
        column.no_wrap = header not in _PROSE
        longest = max((len(str(cell)) for cell in column.cells), default=0)
        column.min_width = max(len(header), min(longest, _PROSE.get(header, 0)))
    return table
