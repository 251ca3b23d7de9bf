"""Shows the measured rows: a table on a terminal, plain lines in a pipe, JSON on request. It must not judge."""

import sys
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.registry import Row

HEADS = ("what", "original", "target", "measured", "")


def print_rows(rows: Sequence[Row]) -> None:
    """Write the table and the breakdowns to standard output."""
    console = Console()
    if console.is_terminal:
        _print_table(console, rows)
    else:
        _print_plain(rows)
    for row in rows:
        if row.details:
            print(f"\n{row.name}: {row.note or _number(row, row.value)}")
            for label, number in row.details.items():
                print(f"  {number:8.2f}  {label}")


def print_json(rows: Sequence[Row]) -> None:
    """Write the rows as JSON to standard output."""
    found = [
        {
            "name": row.name,
            "original": row.original,
            "target": row.limit,
            "measured": row.value,
            "unit": row.unit,
            "ok": row.ok,
            "note": row.note,
            "details": dict(row.details),
        }
        for row in rows
    ]
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    measured = "not measured" if row.value is None else _number(row, row.value)
    if row.note:
        measured += f" ({row.note})"
    target = f"<= {_number(row, row.limit)}"
    return row.name, row.original, target, measured, "ok" if row.ok else "MISSED"


def _number(row: Row, value: float | None) -> str:
    if value is None:
        return ""
    text = f"{value:.0f}" if value == int(value) else f"{value:.2f}"
    return f"{text} {row.unit}".strip()


def _print_table(console: Console, rows: Sequence[Row]) -> None:
    table = Table(*HEADS)
    for row in rows:
        *cells, verdict = _cells(row)
        colour = "green" if row.ok else "bold red"
        table.add_row(*cells, f"[{colour}]{verdict}[/]")
    console.print(table)


def _print_plain(rows: Sequence[Row]) -> None:
    lines = [HEADS, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    for name, original, target, measured, verdict in lines:
        start = f"{name:{widths[0]}}  {original:{widths[1]}}  {target:{widths[2]}}"
        print(f"{start}  {verdict:6}  {measured}")
