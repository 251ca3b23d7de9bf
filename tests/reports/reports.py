"""Public reports of users of such tools and gateways, and what Moonshift must do in the same situation.

Why it exists: users of other tools met situations that nobody here thought of. Each row is a situation in our own words,
never a copied text. Rows are added and never taken away; a row whose result is not `RIGHT` says why.
"""

from dataclasses import dataclass
from enum import StrEnum

ARGO = "argoproj/argo-rollouts"
FLAGGER = "fluxcd/flagger"
KRUISE = "openkruise/kruise"
KRUISE_ROLLOUTS = "openkruise/rollouts"


class Result(StrEnum):
    """What the product does in the reported situation."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


@dataclass(frozen=True)
class Report:
    """One report."""

    repository: str
    number: int
    seen: str
    """What the user of the other tool saw."""
    wanted: str
    """What Moonshift must do."""
    result: Result = Result.RIGHT
    reason: str = ""
    """What is missing, where the result is not right; the test then asserts today's behaviour."""

    @property
    def name(self) -> str:
        """As people cite it."""
        return f"{self.repository}#{self.number}"


REPORTS: tuple[Report, ...] = (
    Report(
        ARGO,
        1292,
        "An abort while nothing was released scaled the stable ReplicaSet down to nothing.",
        "A rollback or an approval without a release changes no pod.",
    ),
    Report(
        ARGO,
        2781,
        "After an abort the canary Service went on selecting the hash of pods that were gone, and answered nobody.",
        "The canary Service goes with the release; no Service keeps the rolled-back revision in its selector.",
    ),
    Report(
        ARGO,
        2316,
        "An interrupted canary left the selector of the canary Service at the new version.",
        "As above, in both styles.",
    ),
    Report(
        ARGO,
        3078,
        "During an abort the canary Service changed to and fro between two hashes, and requests failed.",
        "Until the canary Service goes it selects one revision.",
    ),
    Report(
        ARGO,
        2048,
        "After an abort of version 2 the mended version 3 was scaled down at once instead of being released.",
        "A mended version starts at step 1, after a rollback and during one.",
    ),
    Report(
        ARGO,
        4128,
        "New pods never started; the release was stuck without an end, and neither deadline nor abort took effect.",
        "The release is Stalled at its deadline, sends the new pods nothing, and can be rolled back.",
    ),
    Report(
        ARGO,
        1259,
        "The abort of a blue-green release whose pods never started left those pods running.",
        "A rollback removes them.",
    ),
    Report(
        FLAGGER,
        862,
        "After a rollback the same image was applied again, and nothing happened.",
        "The same version is released again from step 1.",
    ),
    Report(
        KRUISE_ROLLOUTS,
        257,
        "The manifest of the former version, applied in the middle of a canary, changed nothing: no way back.",
        "The former manifest is a rollback, in both styles.",
    ),
    Report(
        FLAGGER,
        1163,
        "After a failed release the old version was applied, then the failed one again; the second try never started.",
        "A version that was given up is held: the message names the command that tries it again, and that command does.",
    ),
    Report(
        ARGO,
        3855,
        "After the Rollout was deleted the Deployment stayed at 0 replicas for ever.",
        "A deleted Rollout leaves the owner's number of pods.",
    ),
    Report(
        FLAGGER,
        1448,
        "Deleting the Canary gave routes back, but not the replicas of the workload.",
        "As above, in every style.",
    ),
    Report(
        FLAGGER,
        1550,
        "When the Canary was deleted, serving pods went before the others were ready.",
        "The Service keeps ready pods all the time.",
    ),
    Report(
        FLAGGER,
        1534,
        "After the deletion the Service had a selector that its owner never wrote.",
        "The owner's own selector is back.",
    ),
    Report(
        KRUISE_ROLLOUTS,
        272,
        "Deleting the Rollout in the middle set the Deployment going: all pods were replaced, to the owner's surprise.",
        "Deleting the Rollout stops the release where it is, if its owner asks for that.",
        Result.PARTLY,
        "The Deployment goes on to its template under its owner's strategy, as after a deletion in OpenKruise. A pause"
        " that its owner sets before the deletion keeps the stable pods; in canary style there is no such pause, because"
        " the Deployment is paused for the release already.",
    ),
)
