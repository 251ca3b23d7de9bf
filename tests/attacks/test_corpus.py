"""Every attack ends as its entry says, is followed by a canary that sings, and leaves nothing behind."""

from collections import Counter

import pytest

from luaworker.layers import Layer
from tests.attacks.attack import Attack, Category
from tests.attacks.conftest import Seen
from tests.attacks.corpus import CORPUS
from tests.attacks.trial import problems

_ALL = [
    (f"{kind}: {attack.name}", attack) for kind, attacks in CORPUS.items() for attack in attacks
]


@pytest.mark.parametrize(("name", "attack"), [pytest.param(n, a, id=n) for n, a in _ALL])
async def test_the_attack_is_stopped(name: str, attack: Attack, seen: dict[str, Seen]) -> None:
    found = seen[name]
    assert problems(attack, found.record, found.song) == []
    assert found.left == ""


def test_every_category_has_at_least_twelve_attacks() -> None:
    assert set(CORPUS) == set(Category)
    assert {kind: len(attacks) for kind, attacks in CORPUS.items() if len(attacks) < 12} == {}
    assert len(_ALL) >= 120


def test_no_name_is_used_twice() -> None:
    assert [name for name, count in Counter(name for name, _ in _ALL).items() if count > 1] == []


def test_every_layer_has_an_attack_that_proves_it() -> None:
    assert {attack.layer for _, attack in _ALL if attack.witness} == set(Layer)


@pytest.mark.parametrize("number", ["cve-2014-5461", "cve-2025-46817"])
def test_known_holes_of_the_engine_are_tried(number: str) -> None:
    assert any(number in name for name, _ in _ALL)
