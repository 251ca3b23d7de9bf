"""The one table of Events in docs/runbooks.md, from the reasons and from the places in the code that report them.

`make generate` writes it (`python -m tests.unit.documents.event_table`); a test compares. Invariant: a reason is in the
table as soon as the code can report it, with the type that the code gives it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from controller.cli.remedies.remedy_table import TABLE
from controller.domain import reasons
from controller.reconcilers import script_checks
from tests.unit.documents.pages import ROOT

DOCUMENT = ROOT / "docs" / "runbooks.md"
BEGIN, END = "<!-- events: generated -->\n", "<!-- end -->\n"
CODE = ROOT / "controller"
NORMAL, WARNING = "Normal", "Warning"
ON = {"TRAFFIC_ROUTING_PHASE": "TrafficRouting", "STATUS_REFUSED": "Rollout, TrafficRouting"}
CONFIG_MAP = "ConfigMap of scripts"
Sentences = dict[str, str]


def sentences(module: Path) -> Sentences:
    """Constants with the sentence under each; empty if there is none."""
    body = ast.parse(module.read_text()).body
    found: Sentences = {}
    for here, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(here, ast.Assign) and isinstance(here.targets[0], ast.Name):
            constant = following.value if isinstance(following, ast.Expr) else None
            text = constant.value if isinstance(constant, ast.Constant) else ""
            found[here.targets[0].id] = str(text)
    return found


def reasons_of_notes() -> dict[str, set[str]]:
    """Names of reasons in notes, with the types of their Events."""
    found: dict[str, set[str]] = {}
    for file in sorted((CODE / "domain").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Note":
                warns = any("WARNING" in ast.unparse(part) for part in node.args[2:])
                for name in _named(node.args[0]):
                    found.setdefault(name, set()).add(WARNING if warns else NORMAL)
    return found


def literal_reasons() -> list[str]:
    """Places where a refusal or a note spells its reason, which `domain/reasons` has to name."""
    found = []
    for file in sorted(CODE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Refusal", "Note"):
                given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "reason")]
                if any(isinstance(value, ast.Constant) for value in given):
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    return found


def _named(reason: ast.expr) -> Iterator[str]:
    for node in ast.walk(reason):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "reasons":
            yield node.attr


def stalls() -> list[str]:
    """Names of reasons of the condition Stalled: its beginning is reported as a Warning."""
    return [name for name, value in vars(reasons).items() if name.isupper() and value in TABLE]


def rows() -> list[tuple[str, str, str, str]]:
    """Reason, type, object and meaning of each Event."""
    meaning, found = sentences(Path(reasons.__file__)), reasons_of_notes()
    found |= {name: found.get(name, set()) | {WARNING} for name in stalls()}
    made = [
        (
            str(getattr(reasons, name)),
            ", ".join(sorted(types)),
            ON.get(name, "Rollout"),
            meaning[name],
        )
        for name, types in found.items()
    ]
    scripts = sentences(Path(script_checks.__file__))
    for name, kind in (("UNUSABLE", WARNING), ("SHADOWED", WARNING), ("USABLE", NORMAL)):
        text = scripts[name].removeprefix("Event: ")
        made.append((getattr(script_checks, name), kind, CONFIG_MAP, text[0].upper() + text[1:]))
    return sorted(made)


def others() -> list[str]:
    """Reasons of a stall for which kinds that cannot be read have their own types (`domain/availability`)."""
    known = {row[0] for row in rows()}
    return sorted(reason for reason in TABLE if reason not in known)


def generated() -> str:
    """The text between the marks."""
    lines = ["| reason | type | on | when |", "|---|---|---|---|"]
    lines += [f"| `{reason}` | {kind} | {on} | {text} |" for reason, kind, on, text in rows()]
    named = ", ".join(f"`{reason}`" for reason in others())
    return "\n".join(
        [
            *lines,
            "",
            f"A kind that may not be read, or that the cluster does not serve, stalls a Rollout, too: {named}.",
            "",
        ]
    )


def renewed(text: str) -> str:
    """The document with its table made again."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{generated()}{END}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text()))
