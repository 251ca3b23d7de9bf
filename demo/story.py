"""The story: the article's canary release with Istio, scene by scene.

Invariant: the story acts only as a user would, with the commands that are shown; every scene ends with a snapshot by
an independent client, compared with `expectations`. It must not touch what the product writes.
"""

from collections.abc import Callable
from typing import NamedTuple

from demo import chronicle, expectations
from demo.claims import Claim
from demo.commands import Commands
from demo.frame import Moment
from demo.screen import Screen
from demo.snapshot import Snapshot, read_snapshot
from demo.world import (
    ROLLOUTS,
    VIRTUAL_SERVICES,
    State,
    find,
    has_succeeded,
    is_paused_in,
    is_ready,
    pods,
    rollout_phase,
)
from localcluster.api import ApiClient
from localcluster.history import Change
from localcluster.record import Recorder

EXAMPLE = "examples/istio-canary"
ROLLOUT = "rollouts-demo"
SCENE_SECONDS = 60.0

Arrived = Callable[[State], bool]
Check = Callable[[Snapshot], list[Claim]]


class Sabotage(NamedTuple):
    """What is broken on purpose before the end is judged, to show that the demo notices."""

    act: Callable[[ApiClient], object]


class Story:
    """One telling."""

    def __init__(
        self, screen: Screen, recorder: Recorder, onlooker: ApiClient, commands: Commands
    ) -> None:
        self._screen, self._recorder = screen, recorder
        self._onlooker, self._commands = onlooker, commands
        self._original: State = {}
        self.claims: list[Claim] = []
