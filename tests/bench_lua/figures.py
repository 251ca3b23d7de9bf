"""The figures of a series of calls, and the goals that they are compared with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """One series: seconds of each call, and CPU seconds of all processes that served them."""

    seconds: tuple[float, ...]
    cpu: float

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(self.seconds + other.seconds, self.cpu + other.cpu)

    @property
    def cpu_per_call(self) -> float:
        """CPU seconds of one call."""
        return self.cpu / len(self.seconds)

    @property
    def per_core(self) -> float:
        """Calls per second that one core, kept busy, serves."""
        return 1 / self.cpu_per_call

    def percentile(self, share: float) -> float:
        """Seconds that this share of the calls did not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure and its goal."""

    name: str
    value: float
    bound: float
    unit: str
    at_most: bool = True
    fails_beyond: float | None = None
    """The run fails if the figure is larger; None if the figure is only reported."""

    @property
    def reached(self) -> bool:
        """The figure is on the right side of its bound."""
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    @property
    def fails(self) -> bool:
        """The figure is too bad for the run to pass."""
        return self.fails_beyond is not None and self.value > self.fails_beyond
