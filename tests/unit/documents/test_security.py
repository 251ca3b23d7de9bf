"""docs/security.md: every test that the threat model names is there, and every attack names one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+)`", DOCUMENT)))
ROWS = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and line.count("|") == 4]


def defined() -> frozenset[str]:
    """Every test function of the project."""
    texts = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for text in texts for name in re.findall(r"def (test_\w+)\(", text))


DEFINED = defined()


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_the_threat_model_names_is_there(name: str) -> None:
    assert name in DEFINED


def test_every_attack_names_its_test() -> None:
    attacks = [
        row for row in ROWS if not row.startswith(("| attack |", "| risk |", "| right |", "| ---"))
    ]
    assert len(attacks) > 25
    assert [row for row in attacks if not row.rsplit("| ", 1)[1].startswith("`test_")] == []
