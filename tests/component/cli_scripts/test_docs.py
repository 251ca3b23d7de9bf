"""The commands of docs/scripts.md print the output that the page shows."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.cli.main import cli

DOCS = Path(__file__).resolve().parents[3] / "docs" / "scripts.md"
FILES = re.compile(r"^`([^`]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```console\n\$ moonshift ([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d+\.\d+(?= (?:ms|MB|s)\b)")
SCRIPT = "gateway.example.com/TrafficLane/trafficRouting.lua"


def comparable(output: str) -> str:
    return MEASURED.sub("N", output.strip())


def test_every_command_prints_the_text_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOCS.read_text()
    for name, content in FILES.findall(text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    commands = COMMANDS.findall(text)
    assert len(commands) == 7
    for arguments, output in commands:
        if arguments.endswith("claims-too-much"):
            shutil.copytree("my-scripts", "claims-too-much")
            script = Path("claims-too-much") / SCRIPT
            script.write_text(script.read_text().replace("weight,", "weight,header-regex,", 1))
        if arguments.endswith(" short"):
            case = Path(SCRIPT).parent / "testdata"
            shutil.copytree(Path("my-scripts") / case, Path("short") / case)
            assert len((Path("short") / SCRIPT).read_text().splitlines()) <= 25
        ended = CliRunner().invoke(cli, arguments.split())
        assert comparable(ended.output) == comparable(output), arguments
    written = Path("my-scripts/gateway.example.com/TrafficLane/testdata/canary_obj.lua").read_text()
    (shown,) = re.findall(r"^```lua\n(-- The script's input.*?)  -- …\n```", text, re.M | re.DOTALL)
    assert written.startswith(shown)


def test_the_page_names_the_parts_that_people_forget() -> None:
    text = DOCS.read_text()
    for part in (
        "ipairs(obj.matches or {})",
        "lua.traffic.routing.<Kind>.<group>",
        "lua.traffic.routing.ingress.<class>",
        'moonshift.dev/aggregate-to-controller: "true"',
        "--@siblings",
        "--@after",
    ):
        assert part in text
