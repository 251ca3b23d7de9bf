"""Rules of `deploy/monitoring`, judged and played over series by the real promtool; each alert has its runbook."""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.extras import ensure_extra
from localcluster.progress import SilentReporter
from localcluster.prometheus import PROMTOOL
from tests.unit.telemetry.catalogue import of_controller, of_state, of_worker

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "monitoring" / "rules.yaml"
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text()
PARTS = ("What it means.", "What to look at.", "What not to do.")
OTHERS = {"apiserver_admission_webhook_rejection_count"}
"""Metrics of API servers."""


def groups() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    return found


def alerts() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"] if "alert" in rule]


def _unquoted(expression: str) -> str:
    return re.sub(r'"[^"]*"', '""', expression)


async def promtool(folder: Path, *arguments: str) -> str:
    built = await ensure_extra(PROMTOOL, SilentReporter())
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    shutil.copy(Path(__file__).parent / "rules_test.yaml", folder)
    process = await asyncio.create_subprocess_exec(
        str(built.binary),
        *arguments,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    output = await promtool(tmp_path, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    rules = sum(len(group["rules"]) for group in groups())
    assert f"SUCCESS: {rules} rules found" in output


async def test_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    assert "SUCCESS" in await promtool(tmp_path, "test", "rules", "rules_test.yaml")


def test_every_alert_is_played() -> None:
    played = (Path(__file__).parent / "rules_test.yaml").read_text()
    assert [a["alert"] for a in alerts() if f"alertname: {a['alert']}\n" not in played] == []


@pytest.mark.parametrize("alert", [rule["alert"] for rule in alerts()])
def test_an_alert_has_its_section_of_the_runbooks(alert: str) -> None:
    rule = next(rule for rule in alerts() if rule["alert"] == alert)
    _, _, section = RUNBOOKS.partition(f"\n## {alert}\n")
    section = section.partition("\n## ")[0]
    assert [part for part in PARTS if f"**{part}**" not in section] == []
    assert "kubectl" in section
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{alert.lower()}"


def test_rules_name_only_metrics_that_are_served() -> None:
    served = {e.sample for e in (*of_controller(), *of_state(), *of_worker())}
    served |= {f"{name}_bucket" for name in served} | OTHERS
    named = {
        name
        for group in groups()
        for rule in group["rules"]
        for name in re.findall(r"\b(?:moonshift|lua|leader|apiserver)_\w+", _unquoted(rule["expr"]))
    }
    assert named - served == set()
