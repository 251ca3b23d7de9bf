"""Canary style: pods of an older revision, which run in the place of the stable ones, give it back.

Why: a paused Deployment whose stable ReplicaSet was deleted gets its pods from an older ReplicaSet, where it has one,
faster than the stable one can be made again (`rebuilding`). The pods of the extra Deployment are not concerned, so the
step stays, and its routes. Invariant: an older pod leaves only when as many stable ones are ready as `from_zero` gives
them in addition; a template that the Deployment itself runs is not touched here.
"""

from controller.domain.rollout.moving.from_zero import stable_replica_set, was_rebuilt
from controller.domain.rollout.styles.extra_deployment import ExtraDeployment
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Continue, Transition


def with_stable_pods_returning(release: Release, transition: Transition) -> Transition:
    """The transition of a step, with the actions that bring the stable pods back to their place."""
    if isinstance(transition, Continue):
        return transition
    mechanism = ExtraDeployment()
    first = mechanism.bring_stable_back(release)
    back = first or mechanism.send_new_away(release) or release.stop()
    return transition.also(*back.actions, wake_at=back.wake_at)


def only_older_pods_are_in_the_way(release: Release) -> bool:
    """The stable ReplicaSet was made again in this release, and all other pods of the Deployment are older ones."""
    stable = stable_replica_set(release)
    if release.style is not Style.CANARY or stable is None or not release.replicas:
        return False
    others = [run for run in release.running if run.name != stable.revision]
    are_older = all(run.template_hash != release.template_hash for run in others)
    return bool(others) and are_older and was_rebuilt(stable)
