"""docs/compatibility.md names every field, key, gate, flag and command there is, and nothing that is not."""

import functools
from collections.abc import Iterator
from itertools import product
from typing import Any

import click
import pytest
import yaml

from controller.__main__ import _WITHOUT_MEANING, main
from controller.api import history, names, trafficrouting
from controller.cli.main import cli
from controller.settings import GATES
from tests.unit.documents.pages import ROOT, Row, rows_of, ticked

ANSWERS = {"same", "different", "absent", "ours"}
FIELDS = ("Rollout: spec", "Rollout: v1alpha1", "Rollout: status", "TrafficRouting", "RolloutHistory")  # fmt: skip
KEYS = ("Labels", "Annotations", "Finalizers and fixed names")


@functools.cache
def rows(*sections: str) -> tuple[Row, ...]:
    """The rows that name something, without the heads of tables."""
    found = rows_of(ROOT / "docs/compatibility.md")
    return tuple(row for row in found if row.section in sections and row.names)


def named(*sections: str) -> set[str]:
    """The names in the first cells."""
    return {name for row in rows(*sections) for name in row.names}


def answer_of(row: Row) -> str:
    """The word for its state."""
    return next((cell for cell in row.cells if cell in ANSWERS), "")


def expanded(path: str) -> Iterator[str]:
    """`a.{b,c}` as `a.b` and `a.c`."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in _split(path)]
    for choice in product(*parts):
        yield ".".join(choice)


def _split(path: str) -> list[str]:
    """The segments; `{a,b}[]` is spelt as one per choice."""
    found = []
    for part in path.split("."):
        inner = part.removesuffix("[]")
        if inner.startswith("{") and part != inner:
            part = "{" + ",".join(f"{name}[]" for name in inner[1:-1].split(",")) + "}"
        found.append(part)
    return found


def leaves(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Every field without fields of its own."""
    if schema.get("type") == "array":
        yield from leaves(schema["items"], f"{path}[]")
    elif properties := schema.get("properties"):
        for name, inner in properties.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path


@functools.cache
def schema_fields() -> frozenset[str]:
    """The path of every field of a spec or status, of every kind and version."""
    found: set[str] = set()
    for file in (ROOT / "deploy/crds").glob("*.yaml"):
        for version in yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]["versions"]:
            found |= set(leaves(version["schema"]["openAPIV3Schema"]))
    return frozenset(path for path in found if path.startswith(("spec.", "status.")))


def meant(documented: str, path: str) -> bool:
    """A documented path is the end of a field's path; with `.*` it is what the field is in."""
    full, wanted = f".{path}", f".{documented}"
    if wanted.endswith(".*"):
        return f"{wanted[:-1]}" in f"{full}."
    return full.endswith(wanted)


@functools.cache
def documented_fields() -> frozenset[str]:
    return frozenset(path for name in named(*FIELDS) for path in expanded(name))


def test_every_field_of_a_crd_is_in_the_page() -> None:
    documented = documented_fields()
    missing = [
        path for path in schema_fields() if not any(meant(name, path) for name in documented)
    ]
    assert missing == []


def test_every_field_in_the_page_is_in_a_crd() -> None:
    unknown = [
        name for name in documented_fields() if not any(meant(name, p) for p in schema_fields())
    ]
    assert unknown == []


def test_no_field_is_named_by_its_last_segment_alone() -> None:
    assert [name for name in documented_fields() if "." not in name] == []


def constants() -> set[str]:
    """Keys of labels, annotations and finalizers, wherever the code names them."""
    modules = (names, history, trafficrouting)
    values = [value for module in modules for value in vars(module).values()]
    texts = {value for value in values if isinstance(value, str)}
    return {text for text in texts if "/" in text and " " not in text and text[0].isalpha()}


def test_every_key_of_the_code_is_in_the_page() -> None:
    versions = {names.V1BETA1, names.V1ALPHA1}
    assert constants() - versions - named(*KEYS) == set()


def test_every_fixed_name_of_the_code_is_in_the_page() -> None:
    fixed = {
        names.CONFIGURATION,
        names.MUTATING_CONFIGURATION,
        names.VALIDATING_CONFIGURATION,
        names.DEFAULT_NAMESPACE,
        names.LEASE,
        names.WEBHOOK_SECRET,
        names.WEBHOOK_SERVICE,
        names.CONTROLLER_ACCOUNT,
        names.CANARY_SUFFIX,
    }
    assert fixed - named(*KEYS) == set()


def test_names_that_the_page_calls_absent_are_in_no_constant() -> None:
    absent = {name for row in rows(*KEYS) if answer_of(row) == "absent" for name in row.names}
    assert absent & constants() == set()


def test_the_page_has_every_feature_gate_and_no_other() -> None:
    assert named("Feature gates") == set(GATES)


def test_every_flag_is_in_the_page() -> None:
    own = {opt for param in main.params for opt in param.opts}
    accepted = {f"--{name}" for name in _WITHOUT_MEANING}
    documented = named("Flags of the controller")
    assert (own | accepted) - documented == set()
    refused = {name for name in documented if name.startswith("--rate-limiter-")}
    assert documented - own - accepted - refused == set()


def test_every_variable_of_a_flag_is_in_the_page() -> None:
    read = {str(param.envvar) for param in main.params if getattr(param, "envvar", None)}
    assert read - named("Environment") == set()
    absent = {row.names[0] for row in rows("Environment") if answer_of(row) == "absent"}
    assert absent & read == set()


def test_every_command_is_in_the_page() -> None:
    text = (ROOT / "docs/compatibility.md").read_text()
    found = {word for name in ticked(text) for word in name.split()}
    assert set(cli.list_commands(click.Context(cli))) - found == set()


@pytest.mark.parametrize(
    "row",
    rows(*FIELDS, *KEYS, "Kinds", "Events", "Feature gates", "Flags of the controller", "Environment", "Commands"),
    ids=lambda row: row.names[0],
)  # fmt: skip
def test_every_row_has_an_answer(row: Row) -> None:
    assert answer_of(row) in ANSWERS
    if answer_of(row) == "different":
        assert row.cells[-1], "what differs has to be said"
