"""The rooms that decide or write, each with deliberate defects: at least two, or nobody knows that its tests look."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.mutations.mutation import Mutation

ROOMS = (
    "controller/domain/rollout/approvals",
    "controller/domain/rollout/ends",
    "controller/domain/rollout/moving",
    "controller/domain/rollout/routes",
    "controller/domain/rollout/styles",
    "controller/domain/rollout/trouble",
    "controller/domain/rollout/words",
    "controller/domain/rollout",
    "controller/domain/pods",
    "controller/domain/traffic",
    "controller/domain/trafficrouting",
    "controller/domain/admission",
    "controller/domain/gates",
    "controller/domain/checks",
    "controller/domain/config",
    "controller/domain/notifications",
    "controller/domain",
    "controller/reconcilers",
    "controller/effects/gateways",
    "controller/effects",
    "controller/kube",
    "controller/runtime",
    "controller/scripts",
    "controller/outbound",
    "controller/webhook",
    "controller/certificates",
    "luaworker",
)
"""A room before the one that it is in."""
FEWEST = 2
SINGLE = frozenset({"controller/domain"})
"""Its own files beside its rooms: most are words."""


def room_of(mutation: Mutation) -> str:
    """The innermost room."""
    place = mutation.module.replace(".", "/")
    return next(room for room in ROOMS if place.startswith(f"{room}/"))


def counted(mutations: Iterable[Mutation]) -> Counter[str]:
    """How many there are in each room."""
    return Counter(map(room_of, mutations))


def of_each_room(mutations: Iterable[Mutation], number: int) -> Iterator[Mutation]:
    """The first `number` of each room, in their order."""
    found: Counter[str] = Counter()
    for mutation in mutations:
        room = room_of(mutation)
        found[room] += 1
        if found[room] <= number:
            yield mutation
