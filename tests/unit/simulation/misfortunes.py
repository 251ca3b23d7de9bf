"""Random misfortunes of a release: pods that fail or go, versions that break, rights, quota and kinds that are taken.

Invariant: a rule after which counts of pods prove nothing says so (`excuse`); `made_whole` mends everything that a
rule has broken. It must not move the release: the owner and people at the Rollout do (`releases`).
"""

from typing import get_args

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from msgspec import structs

from controller.api import names
from controller.api.rollout import Phase
from controller.domain.availability import NotServed
from controller.domain.decision import Action, Refusal
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    make_service,
    template,
)
from tests.unit.simulation.owners import Owner
from tests.unit.simulation.passes import Passes
from tests.unit.simulation.rounds import noted

VERSIONS = st.sampled_from(("v1", "v2", "v3", "v4"))
ACTIONS = sorted(kind.__name__ for kind in get_args(Action))
"""Actions that the API server, or a script, may refuse."""


class Misfortunes(Passes):
    """One workload and one Rollout, of which anything may break."""

    owner: Owner
    healthy: bool
    without_crd = False
    """The kind of the route is not served."""
    restarts = 0

    # --- who is there ---------------------------------------------------------------------------

    @property
    def there(self) -> bool:
        return self.owner.find() is not None

    def whole(self) -> None:
        """At rest with nothing broken, counts of pods prove something again."""
        self.world.rest()
        if self.healthy:
            self.watch.excused = self.watch.unpinned = False
            self.watch.accept_replacement()
            self.watch.forced &= self.state not in (Phase.HEALTHY, "no Rollout")
            self.watch.check()
            self.watch.statuses.at_rest()

    def abandon(self, version: str) -> None:
        """Another revision replaces the one before."""
        workload = self.owner.find()
        if workload is not None and workload.spec.template == template(version):
            return
        revision = self.world.cluster.revision_of(template(version))
        pods = self.world.cluster.pods
        alive = [pod for pod in pods if not pod.metadata.deleting and not pod.ended]
        there = sum(pod.revision.removeprefix("web-") == revision for pod in alive)
        self.watch.most_new = there + self.missing if self.is_admitted else 10**6
        self.watch.replaced = True

    @property
    def is_admitted(self) -> bool:
        """Admission is asked about the workload; else its own controller makes pods of a template before we hold it."""
        workload = self.owner.find()
        return workload is not None and names.WORKLOAD_TYPE in workload.metadata.labels

    @property
    def missing(self) -> int:
        """Pods that are lost and replaced by new pods, whatever the step says."""
        if not self.there or not self.owner.lost_pods_return_new:
            return 0
        pods = self.owner.pods()
        alive = [pod for pod in pods if not pod.metadata.deleting and not pod.ended]
        return max(0, self.owner.size - len(alive))

    def lost_a_pod(self) -> None:
        """A kind that cannot create old pods again has more new pods from now on."""
        self.excuse()
        context = self.watch.context
        if context is not None and self.missing:
            new = [pod for pod in context.new_pods if not pod.metadata.deleting]
            self.watch.most_new = max(self.watch.most_new, len(new) + self.missing)

    def excuse(self) -> None:
        self.watch.excused = True

    # --- misfortune -----------------------------------------------------------------------------

    @rule(which=st.integers(0, 20))
    @noted
    def fail_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.healthy = False
            self.world.people.fail_pods(frozenset({pods[which % len(pods)].metadata.uid}))

    @rule(version=VERSIONS)
    @noted
    def break_a_version(self, version: str) -> None:
        self.excuse()
        self.healthy = False
        revision = self.world.cluster.revision_of(template(version))
        self.world.people.fail_pods(frozenset({revision}))

    @rule(action=st.sampled_from(ACTIONS))
    @noted
    def refuse(self, action: str) -> None:
        self.healthy = False
        self.world.people.forbid(action, Refusal("Forbidden", f"{action} is refused"))

    @rule()
    @noted
    def forbid_pods(self) -> None:
        self.excuse()
        self.healthy = False
        self.world.people.forbid_pods("exceeded quota")

    @rule()
    @noted
    def heal(self) -> None:
        self.made_whole()

    def made_whole(self) -> None:
        """Every broken part works again, and every removed object is back."""
        if self.without_crd:
            self.without_crd = False
            self.world.put_route(NAMESPACE, VIRTUAL_SERVICE.kind, VIRTUAL_SERVICE.name)
            self.world.can_be_read(VIRTUAL_SERVICE.kind)
        service = self.world.cluster.services.get(KEY)
        if service is None or "app" not in service.spec.selector:
            self.world.people.apply_service(make_service("web"))
        self.world.people.heal()
        self.healthy = True

    @precondition(lambda self: not self.without_crd)
    @rule()
    @noted
    def remove_the_crd(self) -> None:
        """Remove it with all objects of the kind, including ours; the owner's objects are applied again when it is
        installed again."""
        self.excuse()
        self.healthy = False
        self.without_crd = True
        self.world.remove_route(NAMESPACE, VIRTUAL_SERVICE.kind, VIRTUAL_SERVICE.name)
        self.world.cannot_be_read(VIRTUAL_SERVICE.kind, NotServed("the kind is not served"))

    @rule(heard=st.booleans())
    @noted
    def take_the_selector_off(self, heard: bool) -> None:
        """The owner's Service selects no pod any more."""
        self.excuse()
        self.watch.unpinned = True
        self.healthy = False
        self.world.people.unheard = not heard
        bare = make_service("web")
        self.world.people.apply_service(
            structs.replace(bare, spec=structs.replace(bare.spec, selector={}))
        )
        self.world.people.unheard = False

    @rule(ticks=st.integers(0, 8))
    @noted
    def fill_the_quota_and_raise_it(self, ticks: int) -> None:
        """No pod can be made for a while."""
        self.excuse()
        self.world.people.forbid_pods("exceeded quota")
        for _ in range(ticks):
            self.world.advance()
        if self.healthy:
            self.world.people.heal()

    @precondition(lambda self: self.there)
    @rule()
    @noted
    def restart(self) -> None:
        """`kubectl rollout restart`; refused by kubectl where the workload is paused."""
        workload = self.owner.find()
        assert workload is not None
        if self.owner.restartable:
            self.restarts += 1
            self.watch.replaced = True
            self.watch.most_new = self.missing if self.is_admitted else 10**6
            self.owner.edit(template=restarted(workload.spec.template, self.restarts))

    @rule(which=st.integers(0, 20))
    @noted
    def evict_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.world.people.delete_pod(pods[which % len(pods)].metadata.key)
            self.lost_a_pod()

    @rule(which=st.integers(0, 20))
    @noted
    def take_a_label_off(self, which: int) -> None:
        """A pod is behind no Service any more, and nobody's."""
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.world.people.orphan_pod(pods[which % len(pods)].metadata.key)
            self.lost_a_pod()

    @rule(heard=st.booleans())
    @noted
    def apply_the_service(self, heard: bool) -> None:
        """The owner's manifest of the stable Service is applied over the pin."""
        if not heard:
            self.excuse()
            self.watch.unpinned = True
        self.world.people.unheard = not heard
        self.world.people.apply_service(make_service("web"))
        self.world.people.unheard = False

    @rule()
    @noted
    def touch_routes(self) -> None:
        self.world.touch_routes()

    @rule()
    @noted
    def replace_routes(self) -> None:
        self.world.replace_routes()
        # A person restored all of them together.
        self.watch.led = (False, False)

    @precondition(lambda self: self.governed and self.there)
    @rule(version=VERSIONS)
    @noted
    def pass_while_the_template_changes(self, version: str) -> None:
        self.abandon(version)
        self.world.pass_over(KEY, meanwhile=lambda: self.owner.edit(template=template(version)))

    @rule()
    @noted
    def rest(self) -> None:
        self.whole()


def restarted(before: msgspec.Raw, number: int) -> msgspec.Raw:
    """A template with the annotation that `kubectl rollout restart` writes."""
    tree = msgspec.json.decode(before)
    annotations = {"kubectl.kubernetes.io/restartedAt": str(number)}
    tree["metadata"] = {**tree["metadata"], "annotations": annotations}
    return msgspec.Raw(msgspec.json.encode(tree, order="sorted"))
