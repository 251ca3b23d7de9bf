"""The table of faults: each is made again for every release that it is tried on."""

from collections.abc import Callable, Mapping

from tests.faults.of_discovery import ForgetsKinds, HidesDiscovery
from tests.faults.of_requests import Cuts, IsAway, IsSlow, LosesAnswers, Refuses
from tests.faults.of_watches import (
    Coalesces,
    ComesLate,
    EndsWatches,
    ExpiresWatches,
    IsSilent,
    ListsAreOld,
)
from tests.faults.proxy import Fault

FAULTS: Mapping[str, Callable[[], Fault]] = {
    "every third write is a conflict (409)": lambda: Refuses(409, "Conflict"),
    "every third write is refused as one too many (429)": lambda: Refuses(429, "TooManyRequests"),
    "every third write meets a fault of the server (500)": lambda: Refuses(500, "InternalError"),
    "every third request of any verb is unavailable (503)": lambda: Refuses(
        503, "ServiceUnavailable", writes=False
    ),
    "the answer to every third write is lost": LosesAnswers,
    "every request takes 300 ms": lambda: IsSlow(0.3),
    "the API server is away for 5 s": lambda: IsAway(3, 5.0),
    "watches end after each event": lambda: EndsWatches(1),
    "watches expire after three events (410)": lambda: ExpiresWatches(3),
    "watches expire, and lists are old": lambda: ListsAreOld(3),
    "watches are silent for 3 s, again and again": lambda: IsSilent(3.0, after=6),
    "states within a second are never seen": lambda: Coalesces(1.0),
    "a new controller finds no discovery for 4 s": HidesDiscovery,
    "a new controller finds gateway kinds missing for 4 s": ForgetsKinds,
    "every third request of any verb is refused as one too many (429)": lambda: Refuses(
        429, "TooManyRequests", writes=False
    ),
    "the token is not known at every third request (401)": lambda: Refuses(
        401, "Unauthorized", writes=False
    ),
    "the connection of every third request is cut": Cuts,
    "events come 2 s late": lambda: ComesLate(2.0),
}
