"""The objects that test cases of packaged scripts expect.

Invariant: every original and every object of every step is there, those made beside it included. It must not judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from controller.cli.script_tools.script_folders import ASKING
from localcluster.api import JsonObject

SCRIPTS = Path(__file__).parents[2] / "lua_configuration"


@dataclass(frozen=True, slots=True)
class Found:
    """One object and where it stands."""

    case: Path
    place: str
    object: JsonObject

    @property
    def kind(self) -> str:
        """Group and kind."""
        return kind_of(self.object)

    def __str__(self) -> str:
        return f"{self.case.relative_to(SCRIPTS)}: {self.place}"


def kind_of(body: JsonObject) -> str:
    """Return group/Kind of an object."""
    return f"{body['apiVersion'].rpartition('/')[0]}/{body['kind']}"


def cases() -> list[Path]:
    """Return the files of all cases, of kinds and of Ingress classes; scripts that ask have no objects."""
    return sorted(
        path
        for path in SCRIPTS.rglob("*.yaml")
        if "testdata" in path.parts and path.relative_to(SCRIPTS).parts[0] not in ASKING
    )


def objects_of(case: Path) -> Iterator[Found]:
    """Yield the objects of one case; steps that are refused have none."""
    content = yaml.load(case.read_text(), Loader=yaml.CSafeLoader)
    original = content["original"]
    yield Found(case, "original", original)
    for number, expected in enumerate(content.get("expected") or (), start=1):
        if not isinstance(expected, dict) or not expected.keys() & {"spec", "metadata", "objects"}:
            continue
        own = {key: value for key, value in expected.items() if key != "objects"}
        named = {"apiVersion": original["apiVersion"], "kind": original["kind"]}
        yield Found(case, f"step {number}", {**named, **own})
        for beside in expected.get("objects") or ():
            yield Found(case, f"step {number}, beside it", beside)
