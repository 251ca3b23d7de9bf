"""The table of runs in docs/gateways.md agrees with the scripts."""

from controller.cli.script_tools.engine import private_worker
from tests.unit.lua_configuration.matrix import DOCUMENT, rows, with_table


async def test_the_page_has_the_output_of_a_run() -> None:
    async with private_worker() as engine:
        found = await rows(engine)
    text = DOCUMENT.read_text()
    assert with_table(text, found) == text, (
        "the table is old: python -m tests.unit.lua_configuration.matrix --update"
    )
