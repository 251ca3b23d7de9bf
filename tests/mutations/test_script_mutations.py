"""Every deliberate defect of a packaged script makes the routing test that is named for it fail, in the real worker."""

import inspect
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from controller.scripts.lookup import Script, complete, packaged_texts
from controller.scripts.modules import Modules
from tests.component.luaworker.process import Worker
from tests.mutations.of_scripts import OF_SCRIPTS, ScriptMutation
from tests.routing import skipper, test_ingress, test_paths, test_routing
from tests.routing.model import HOST
from tests.routing.path_tables import PathRule
from tests.routing.tables import ADMIN, LEGACY, STABLE, Rule
from tests.unit.lua_configuration import running
from tests.unit.lua_configuration.cases import FOLDER
from tests.unit.lua_configuration.conftest import script_worker

__all__ = ["script_worker"]

TABLE = (
    Rule("/", True, ((ADMIN, None),)),
    Rule("/api", False, ((STABLE, 60), (LEGACY, 40))),
    Rule("/", False, ((STABLE, None),)),
)
PATH_RULES = (
    PathRule("PathPrefix", "/api", False, ((STABLE, 1),), "/app", 1),
    PathRule("PathPrefix", "/api/v2", True, ((STABLE, 1),), None, 2),
    PathRule("PathPrefix", "/admin", False, ((STABLE, 0), (LEGACY, 100)), None, 3),
)
PATHS = (
    test_ingress.Path(HOST, "/admin", False, ADMIN),
    test_ingress.Path(HOST, "/", False, STABLE),
)


class Drawn:
    """The source of examples that always draws the same one."""

    def draw(self, _: object) -> object:
        """The one example."""
        return PATHS


def examples(mutation: ScriptMutation) -> dict[str, object]:
    """The arguments of a routing test, by their names."""
    return {
        "kind": mutation.kind,
        "name": mutation.kind,
        "table": list(PATH_RULES if hasattr(test_paths, mutation.test) else TABLE),
        "weight": 20,
        "number": mutation.step,
        "step": mutation.step,
        "data": Drawn(),
    }


def mutated(folder: Path, mutation: ScriptMutation) -> Callable[[Path], Script]:
    """Scripts as they are with the defect in them."""
    shutil.copytree(FOLDER, folder)
    file = folder / mutation.file
    file.write_text(file.read_text().replace(mutation.old, mutation.new))

    def script_at(path: Path) -> Script:
        place = path.relative_to(FOLDER)
        text = (folder / place).read_bytes()
        found = complete(str(place), text, "packaged", packaged_texts(), Modules.read(folder))
        assert isinstance(found, Script), found
        return found

    return script_at


def routing_test(mutation: ScriptMutation) -> Callable[..., Awaitable[None]]:
    """The routing test, without the examples that it draws."""
    modules = (test_routing, test_paths, test_ingress)
    found: Any = next(filter(None, (getattr(one, mutation.test, None) for one in modules)))
    plain = getattr(found, "hypothesis", None)
    inner: Callable[..., Awaitable[None]] = plain.inner_test if plain else found
    return inner


async def played(worker: Worker, mutation: ScriptMutation) -> None:
    test, given = routing_test(mutation), examples(mutation)
    wanted = inspect.signature(test).parameters.keys() - {"script_worker"}
    await test(script_worker=worker, **{name: given[name] for name in wanted})


@pytest.mark.parametrize("mutation", OF_SCRIPTS, ids=lambda mutation: mutation.name)
async def test_the_named_routing_test_notices_the_defect(
    script_worker: Worker,
    mutation: ScriptMutation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (FOLDER / mutation.file).read_text().count(mutation.old) == 1
    await played(script_worker, mutation)
    script_at = mutated(tmp_path / "scripts", mutation)
    monkeypatch.setattr(running, "packaged", script_at)
    monkeypatch.setattr(test_ingress, "packaged", script_at)
    with pytest.raises((AssertionError, KeyError, skipper.Undefined)):
        await played(script_worker, mutation)
