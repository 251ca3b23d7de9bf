"""Scripts in a folder, and the files that test them.

The layout is the original's: `<group>/<Kind>/trafficRouting.lua` with `testdata/*.yaml` beside it, and
`trafficrouting_ingress/<class>.lua` with `trafficrouting_ingress/testdata/<class>/*.yaml` (or `<class>_*.yaml`).
Scripts that ask are `source/<name>.lua`, `check/<name>.lua` and `target/<name>.lua`, with cases in `testdata/<name>/`.
Invariant: every script of the folder is found, with or without cases; files of `convert` are no scripts.
"""

from pathlib import Path

import msgspec

from controller.cli.failures import Failure
from controller.cli.files import read_bytes
from controller.domain.decision import Reference
from controller.domain.exchange.answer import Does
from controller.domain.traffic.tree import Tree
from controller.scripts.lookup import FOLDER, MissingScript, Script, complete, packaged_texts
from controller.scripts.modules import Modules

FILE = "trafficRouting.lua"
INGRESS_FOLDER = "trafficrouting_ingress"
TEST_DATA = "testdata"
ROUTE = "route"
ASKING = tuple(does.value for does in Does)
"""Folders of scripts that ask, called as their scripts' `--@does`."""
_ENDINGS = (".yaml", ".yml")


class Subject(msgspec.Struct, frozen=True):
    """One script. Of a kind: `group` and `kind` are set; of an Ingress class: `class_type` is; of a script that asks,
    `does` is another word than route."""

    path: Path
    name: str
    """How reports call it: the folder of a kind, the file of a class."""
    group: str = ""
    kind: str = ""
    class_type: str = ""
    does: str = ROUTE

    def complete(self) -> Script | MissingScript:
        """The script with all that its header asks for, as it is now. Raises OSError."""
        text = read_bytes(self.path)
        return complete(self.name, text, "packaged", packaged_texts(), Modules.read(FOLDER))

    def read(self) -> Script:
        """The script, checked for use. Raises OSError, and Failure if the script asks for something that does not
        exist."""
        script = self.complete()
        if isinstance(script, MissingScript):
            raise Failure(script.reason)
        return script

    def cases(self) -> tuple[Path, ...]:
        """The files of the script's test cases, sorted by name."""
        folder = self.path.parent / TEST_DATA
        if self.does != ROUTE:
            return _yaml_files(folder / self.path.stem)
        if not self.class_type:
            return _yaml_files(folder)
        beside = (
            path
            for path in _yaml_files(folder)
            if path.stem == self.class_type or path.name.startswith(f"{self.class_type}_")
        )
        return (*beside, *_yaml_files(folder / self.class_type))

    def references(self, all_of: tuple[Reference, ...], original: Tree) -> tuple[Reference, ...]:
        """The references to `original` that use this script. Raises ValueError if there is none."""
        mine = [item for item in all_of if self._serves(item)]
        metadata = original.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        # OpenKruise's own cases have arbitrary names; if one reference's name matches, that reference is meant.
        named = [item for item in mine if item.name == name]
        if not mine:
            served = ", ".join(sorted({f"{item.kind} of {item.group}" for item in all_of}))
            raise ValueError(
                f"no reference to {self._description} (references: {served or 'none'})"
            )
        if named:
            return tuple(named)
        return tuple(item for item in mine if item.name == mine[0].name)

    @property
    def _description(self) -> str:
        if self.class_type:
            return f"an Ingress of class {self.class_type}"
        return f"{self.kind} of {self.group}"

    def _serves(self, reference: Reference) -> bool:
        if self.class_type or reference.class_type:
            return reference.class_type == self.class_type
        if not self.kind:  # a file anywhere, given by hand
            return True
        return (reference.group or reference.api_version, reference.kind) == (self.group, self.kind)


def _yaml_files(folder: Path) -> tuple[Path, ...]:
    if not folder.is_dir():
        return ()
    return tuple(sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS))


def subjects_in(folder: Path) -> tuple[Subject, ...]:
    """All scripts of gateways below a folder, by path."""
    found = [subject_at(path) for path in folder.rglob(FILE)]
    for place in folder.rglob(INGRESS_FOLDER):
        found += [subject_at(path) for path in place.glob("*.lua")]
    return tuple(sorted(found, key=lambda subject: subject.path))


def asking_subjects_in(folder: Path) -> tuple[Subject, ...]:
    """All scripts that ask below a folder, by path; the folder may be that of sources, checks or targets itself."""
    found: list[Subject] = []
    for does in ASKING:
        places = [folder] if folder.name == does else []
        for place in (*places, *folder.rglob(does)):
            found += [subject_at(path) for path in place.glob("*.lua") if path.name != FILE]
    return tuple(sorted(found, key=lambda subject: subject.path))


def subject_at(path: Path) -> Subject:
    """The script in one file; its kind is known from its folder, if the folder is of the packaged form."""
    if path.parent.name == INGRESS_FOLDER:
        return Subject(path, f"{INGRESS_FOLDER}/{path.name}", class_type=path.stem)
    if path.resolve().parent.name in ASKING and path.name != FILE:
        does = path.resolve().parent.name
        return Subject(path, f"{does}/{path.stem}", does=does)
    kind, group = path.resolve().parent.name, path.resolve().parent.parent.name
    # A group is a DNS name; for the core group, its version is used.
    if path.name == FILE and ("." in group or group == "v1"):
        return Subject(path, f"{group}/{kind}", group=group, kind=kind)
    return Subject(path, str(path))
