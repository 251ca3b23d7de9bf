"""Failures of the service itself. A failure of a script is an outcome, not one of these exceptions.

ServiceTrouble
├── Overloaded        no child became free in time, or too many calls wait
├── TooLate           the caller's deadline passed before the script was done
├── NotReady          no zygote, or a sandbox that could not be proven
├── BrokenChild       a child failed in our own code, or died although nobody killed it
└── BadSetup          flags or files the process was started with
"""


class ServiceTrouble(Exception):
    """Root of the tree; never raised itself."""


class Overloaded(ServiceTrouble):
    """The call was not started; the same call may succeed a little later."""


class TooLate(ServiceTrouble):
    """The call was ended because its caller's deadline passed; this says nothing about the script."""


class NotReady(ServiceTrouble):
    """No script can run now, for the reason given."""


class BrokenChild(ServiceTrouble):
    """One call is lost, and its script did not cause that."""


class BadSetup(ServiceTrouble):
    """Reported to the operator at the start; the process ends."""
