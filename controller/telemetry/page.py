"""A page of metrics, made piece by piece.

Why: prometheus_client joins and encodes a whole page in one go. With thousands of Rollouts these are megabytes, and
while one call into C makes them no other thread may run, the event loop neither. Invariant: the page is byte for byte
the library's own page. Only gauges are divided: the library reorders the samples of all other types.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from prometheus_client import Metric
from prometheus_client.registry import Collector

PART = 1000
"""Samples that are made in one go: about 100 KiB."""
_END = b"# EOF\n"
_GAUGE = "gauge"


class _Registry(Collector):
    """A registry of a single family; of one without any the encoder writes only how a page ends."""

    def __init__(self, *families: Metric) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Yield the family."""
        yield from self._families


def pieces(
    families: Iterable[Metric], encode: Callable[[Collector], bytes], part: int = PART
) -> Iterator[bytes]:
    """The page, one piece after the other."""
    for family in families:
        for number, some in enumerate(_divided(family, part)):
            piece = encode(_Registry(some)).removesuffix(_END)
            yield _without_head(piece) if number else piece
    yield encode(_Registry())


def _divided(family: Metric, part: int) -> Iterator[Metric]:
    """The family in parts of at most this number of samples; a family other than a gauge stays whole."""
    if family.type != _GAUGE:
        yield family
        return
    samples = iter(family.samples)
    first = True
    while (some := list(islice(samples, part))) or first:
        divided = copy.copy(family)
        divided.samples = some
        yield divided
        first = False


def _without_head(piece: bytes) -> bytes:
    """The samples without repeated lines of name and type."""
    while piece.startswith(b"# "):
        piece = piece.partition(b"\n")[2]
    return piece
