"""The script worker with a defect in it, for tests that start it as processes of their own.

A worker, its zygote and its children are new interpreters: a module that was changed in this process is unchanged in
them. So they are started from a changed copy of the package. Invariant: the package on disk is not touched; the copy
goes with this process.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from tests.mutations.mutation import ROOT, Mutation, mutated_source, source_of

BESIDE = ("protos", "lua_configuration", "controller")
"""Files that a worker imports and reads besides its own package."""


def copied(mutation: Mutation) -> None:
    """From here on tests start workers from a copy that has the mutation."""
    # Imported late: the domain's mutations need neither, and both import the package under test.
    from luaworker import spawn
    from tests.component.luaworker import process

    folder = Path(tempfile.mkdtemp(prefix="mutated-worker-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(ROOT / "luaworker", folder / "luaworker")
    for name in BESIDE:
        (folder / name).symlink_to(ROOT / name)
    place = source_of(mutation).relative_to(ROOT)
    (folder / place).write_text(mutated_source(mutation), encoding="utf-8")
    _, *others = spawn._import_roots()
    process.ROOT = folder
    spawn._import_roots = lambda: [str(folder), *others]
