"""Failures of the service itself; a failure of a script is an outcome, never one of these.

ServiceTrouble
├── Overloaded        no child became free in time, or too many calls wait
├── TooLate           the caller's deadline passed before the script was done
├── NotReady          no zygote, or a sandbox that could not be proven
├── BrokenChild       a child failed in our own code, or died without anybody's doing
└── BadSetup          flags or files the process was started with
"""


class ServiceTrouble(Exception):
    """Root of the tree; never raised itself."""


class Overloaded(ServiceTrouble):
    """The call was not started; the same call may succeed a little later."""


class TooLate(ServiceTrouble):
    """The call was given up for the caller's sake; it says nothing about the script."""


class NotReady(ServiceTrouble):
    """No script can run now, for the reason given."""


class BrokenChild(ServiceTrouble):
    """One call is lost without a fault of its script."""


class BadSetup(ServiceTrouble):
    """Told to the operator at start; the process ends."""
