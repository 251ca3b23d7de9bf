from typing import get_args

from controller.domain.decision import Action
from controller.effects.apply import EFFECTS


def test_every_action_has_an_effect_and_every_effect_an_action() -> None:
    assert set(EFFECTS) == set(get_args(Action))
