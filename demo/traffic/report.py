"""The counts of a release under traffic, and their comparison with the steps.

Invariant: a report holds counts only; judging it twice gives the same complaints. It must do no I/O.
"""

import msgspec

from localcluster.traffic.tally import sigmas

SIGMAS = 4.5
"""A share that differs by more standard deviations is wrong; by chance one window in 150 000 does."""


class ShareSeen(msgspec.Struct, frozen=True):
    """The share of one image in the answers to one sort of request, in one measured stretch."""

    stretch: str
    sort: str
    image: str
    expected: float
    requests: int
    answered: int

    @property
    def share(self) -> float:
        """The part of the requests that the image answered."""
        return self.answered / max(self.requests, 1)


class LostRequest(msgspec.Struct, frozen=True):
    """One request that was not answered with 200."""

    at: float
    during: str
    sort: str
    why: str


class Report(msgspec.Struct, frozen=True):
    """One release."""

    scenario: str
    requests: int
    failed: int
    shares: tuple[ShareSeen, ...]
    lost: tuple[LostRequest, ...]
    seconds: float
    trouble: str = ""
    """Why the release did not come to its end; empty if it did."""


def complaints(report: Report, least: int) -> list[str]:
    """Return everything that is wrong with a release; `least` is how many requests a stretch must have had."""
    found = [report.trouble] if report.trouble else []
    found += [
        f"lost at {lost.at:.2f} s, {lost.during}: {lost.sort} request: {lost.why}"
        for lost in report.lost
    ]
    if report.failed > len(report.lost):
        found.append(f"{report.failed} requests were lost in all")
    for seen in report.shares:
        what = f"{seen.stretch}: {seen.sort} requests"
        if seen.requests < least:
            found.append(f"{what}: only {seen.requests} of at least {least}")
        elif sigmas(seen.share, seen.expected, seen.requests) > SIGMAS:
            found.append(
                f"{what}: {seen.image} answered {seen.share:.2%} of {seen.requests}, not {seen.expected:.0%}"
            )
    return found
