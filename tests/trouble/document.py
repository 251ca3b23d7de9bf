"""`docs/trouble.md`, generated from the table by `python -m tests.trouble.document`; a test compares file and table.

Invariant: this module adds no statement of its own: every cell comes from a row of the table or from its reason.
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from tests.trouble.forms import FORMS, Form
from tests.trouble.rows import TROUBLES
from tests.trouble.table import Message, Row, Trouble

DOCUMENT = Path(__file__).parents[2] / "docs" / "trouble.md"

HEAD = """# Trouble

Problems that can happen around a release: what Moonshift does, its messages, and the commands to type.

`make generate` writes this file from the table in `tests/trouble`, which is played on a real control plane. Quoted
messages are exactly those of the run; `<name>` replaces text that differs from run to run. Every command was run; the
application, its Service, its VirtualService and its Rollout are all called `shop`, and `<kind>` is the kind of the
workload. Every release has two steps, 20 % and 50 % of the pods and of the traffic, each of
which waits for an approval. In every run, a revision without ready pods lost its share of the traffic within the
grace period plus the time of one write, as long as the other revision had ready pods.

Begin with `kubectl moonshift why shop`. Below each problem are the lines that it printed at the worst moment of the
run: the cause, and the commands to type next. Commands that only read were run, too, and one of those that change
something ended the problem. Values that you supply are in capitals.
"""

MARKS = """
● played in every run of the tests; ○ played in `make test-full`; · not played, because a played case covers it;
– cannot have this problem. The section of each problem gives the reason for · and –.
"""

SHORT = {
    "Deployment, partition": "Depl. partition",
    "Deployment, canary": "Depl. canary",
    "Deployment, blue-green": "Depl. blue-green",
    "StatefulSet, partition": "StatefulSet",
    "DaemonSet, partition": "DaemonSet",
    "CloneSet, partition": "CloneSet",
    "CloneSet, blue-green": "CloneSet blue-green",
    "Advanced StatefulSet, partition": "Adv. StatefulSet",
    "Advanced DaemonSet, partition": "Adv. DaemonSet",
}


def document(troubles: tuple[Trouble, ...] = TROUBLES) -> str:
    """The whole file."""
    parts = [HEAD, _overview(troubles), MARKS, *map(_section, troubles)]
    return "\n".join(part.strip() + "\n" for part in parts)


def _overview(troubles: Iterable[Trouble]) -> str:
    lines = [
        f"| trouble | {' | '.join(SHORT[form.name] for form in FORMS)} |",
        f"|---|{'---|' * len(FORMS)}",
    ]
    for trouble in troubles:
        marks = " | ".join(_mark(trouble, form) for form in FORMS)
        lines.append(f"| [{trouble.title}](#{_anchor(trouble.title)}) | {marks} |")
    return "\n".join(lines)


def _mark(trouble: Trouble, form: Form) -> str:
    if any(form in row.often for row in trouble.rows):
        return "●"
    if any(form in row.played for row in trouble.rows):
        return "○"
    return "·" if any(form in row.forms for row in trouble.rows) else "–"


def _anchor(title: str) -> str:
    kept = (letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")


def _section(trouble: Trouble) -> str:
    lines = [
        f"## {trouble.title}",
        "",
        "| for | what happens | message | what to do |",
        "|---|---|---|---|",
        *map(_line, trouble.rows),
    ]
    notes = [
        f"* {_names(forms)}, not played: {reason}."
        for row in trouble.rows
        for forms, reason in row.derived.items()
    ]
    notes += [
        f"* Played again, with the controller killed at the worst moment: {_names(row.killed)}."
        for row in trouble.rows
        if row.killed
    ]
    notes += [f"* {_names(forms)}: {reason}." for forms, reason in trouble.except_for.items()]
    return "\n".join([*lines, "", *dict.fromkeys(notes), *map(_explanation, trouble.rows)])


def _explanation(row: Row) -> str:
    """The lines that `why` prints; empty if the scenario does not run `why`."""
    if not row.explained:
        return ""
    text = "\n".join(row.explained)
    return f"\n`kubectl moonshift why shop` ({row.asked.name}):\n\n```\n{text}\n```"


def _line(row: Row) -> str:
    reported = "<br>".join(map(_quoted, row.says)) or "no message"
    typed = "<br>".join(f"`{text}`" if text in row.commands else text for text in row.do)
    return f"| {_names(row.forms)} | {row.happens} | {reported} | {typed} |".replace("||", "\\|\\|")


def _quoted(reported: Message) -> str:
    quoted = f"{reported.where}: “{reported.text}”"
    return quoted.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def _names(forms: Iterable[Form]) -> str:
    """Forms by workload: `Deployment (partition, canary)`."""
    ordered = [form for form in FORMS if form in set(forms)]
    if len(ordered) == len(FORMS):
        return "all kinds and styles"
    parts = []
    for workload, found in groupby(ordered, key=lambda form: form.workload):
        styles = [form.style for form in found]
        both = len(styles) == sum(1 for form in FORMS if form.workload == workload)
        parts.append(workload if both else f"{workload} ({', '.join(styles)})")
    return ", ".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document())


if __name__ == "__main__":
    main()
