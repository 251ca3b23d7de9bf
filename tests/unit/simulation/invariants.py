"""The rules that hold at every instant of a simulated release."""

from datetime import datetime, timedelta

from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Phase, Rollout, StepState
from controller.api.workloads import Pod
from controller.domain.pods.deployment import owners_limits
from controller.domain.rollout.approvals.changes_by_people import (
    NO_REQUESTS,
    has_request,
    requests_of,
)
from controller.domain.rollout.moving.given_up import given_up_pods
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.target import Pinned
from controller.simulation.cluster import RETRY
from tests.unit.builders import GRACE, KEY, NAMESPACE
from tests.unit.domain.rollout.approvals.said import agrees
from tests.unit.simulation.truth import StatusChecker
from tests.unit.worlds import Led, World

REVISION_LABELS = ("pod-template-hash", "controller-revision-hash")
Said = tuple[str, Led | None, bool]
"""The kind of a gateway object, the plan that it follows without its identity, and whether somebody changed it."""
BEFORE_PODS = (StepState.BEFORE_STEP_UPGRADE, "")


class Watch:
    """Checks a world after every write, and reports what is wrong."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.excused = False
        """Pods failed, were evicted or scaled away since the world was last whole: their number proves nothing."""
        self.replaced = False
        """A revision was abandoned during its release: stable pods take the place of its pods."""
        self.unpinned = False
        """The stable Service was applied over its pin while no webhook answered, or a pin is wanted since the plan was
        edited; no pass has run since.
        """
        self.forced = False
        """Pods were replaced without admission and without Moonshift: their revision proves nothing."""
        self.most_new = 0
        """The number of new pods after the workload was scaled: a scale event divides the pods, not Moonshift."""
        self.surplus = 0
        """New pods beyond the step that the rounding of a scale event made; under blue-green they stay to the end."""
        self.granted = ("", 0)
        """A release, and the largest number of new pods that one of its steps wanted: a jump back removes none."""
        self.led = (False, False)
        """Whether Moonshift leads gateway objects that no object refers to, and such that an object refers to."""
        self.left_at = world.cluster.now
        """The time at which the last object before it was restored."""
        self.said: dict[int, tuple[Said, ...]] = {}
        """The content of the gateway objects of each depth."""
        self.said_at: dict[int, datetime] = {}
        """The time at which those of a depth last said something new."""
        self.empty_since: dict[str, datetime] = {}
        """The time since which a side gets requests without a ready pod, while another side has ready pods."""
        self.tried_again_at = world.cluster.now
        """The time by which a request that the API server refused is sent again."""
        self.pinned_again_at = world.cluster.now
        """The time by which a pin that the API server refused is sent again."""
        self.sent: set[tuple[int, object]] = set(enumerate(NO_REQUESTS))
        """Mailboxes by their number, with every request that was ever in them."""
        """Approvals and jumps that people wrote."""
        self.served: set[str] = set()
        """Services that have had a ready pod."""
        self.phase = ""
        """The phase of the Rollout after the last write."""
        self.statuses = StatusChecker(world)
        world.cluster.caches.rollouts.subscribe(self.no_pass_writes_a_request)
        world.watchers.append(self.check)

    # --- the facts -------------------------------------------------------------------------------

    @property
    def context(self) -> Release | None:
        """The world in the terms of the domain."""
        seen = self.world.observe(KEY)
        if seen is None or seen.workload is None:
            return None
        return as_stored(seen, self.world.cluster.now)

    def ready(self, service: str) -> tuple[Pod, ...]:
        """Ready pods behind a Service."""
        found = self.world.cluster.services.get(Key(NAMESPACE, service))
        pods = self.world.cluster.selected(found) if found is not None else ()
        return tuple(pod for pod in pods if pod.ready_since is not None)

    def no_pod_is_wanted(self) -> bool:
        """The owner wants no pod."""
        workload = self.world.cluster.deployments.get(KEY)
        return workload is not None and not workload.spec.replicas

    def limits(self, context: Release) -> tuple[int, int]:
        """The surge and the unavailable pods that the owner allows."""
        limits = owners_limits(context.owners_values, context.replicas)
        return limits.surge, limits.unavailable

    def accept_replacement(self) -> None:
        """The release goes on from the pods that an abandoned revision left behind and that the admission pause filled
        up.
        """
        if self.replaced:
            self.most_new = max(self.most_new, self.new_pods_asked_for())
        self.replaced = False

    def new_pods_asked_for(self) -> int:
        """The new pods that the workload's own controller has made or is to make: a full quota only delays them."""
        context = self.context
        if context is None:
            return 0
        alive = sum(1 for pod in context.new_pods if not pod.metadata.deleting)
        asked = [run.size for run in context.running if run.template_hash == context.template_hash]
        return max(alive, *asked, 0)

    def nobody_was_at_work(self) -> None:
        """No process lived until it had written since when a side is empty: the time begins with the next process."""
        self.empty_since = {}

    # --- the rules -------------------------------------------------------------------------------

    def check(self) -> None:
        """Check every invariant now."""
        assert not self.statuses.wrong, (self.statuses.wrong, self.world.describe())
        self.referred_objects_are_restored_last()
        self.objects_are_named_in_time()
        self.no_share_stays_on_an_empty_side()
        context = self.context
        self.every_end_leads_somewhere(context)
        if context is None:
            return
        assert agrees(context), self.world.describe()
        status = self.world.intended(KEY) or context.seen.rollout.status
        ours = status.moonshift
        if not isinstance(ours, MoonshiftStatus):
            return
        if not self.excused and context.replicas > 0:
            self.routes_lead_to_ready_pods(context)
        of_this = (ours.release, ours.workload_uid) == (context.identity, context.meta.uid)
        of_this = of_this and context.template_hash != ours.stable_template
        of_this = of_this and not self.forced
        if of_this and status.phase == Phase.PROGRESSING and not ours.goal and context.replicas > 0:
            self.new_pods_stay_out_of_stable(context, ours)
            self.batch_is_kept(context, ours)
        if not self.excused and context.style is Style.PARTITION and context.replicas > 0:
            self.owners_limits_are_kept(context, ours)

    def every_end_leads_somewhere(self, context: Release | None) -> None:
        """When a release is over, each Service that its routes name has a ready endpoint, or had none before; and no
        pod of a revision that was given up is left.
        """
        rollout = self.world.cluster.rollouts.get(KEY)
        before, self.phase = self.phase, rollout.status.phase if rollout is not None else ""
        served = self.served
        self.served = self.served | {
            s.metadata.name for s in self.world.cluster.services if self.ready(s.metadata.name)
        }
        ended = (before, self.phase) == (Phase.PROGRESSING, Phase.HEALTHY)
        if context is None or not ended or self.forced or not context.replicas:
            return
        ours = context.seen.rollout.status.moonshift
        if not isinstance(ours, MoonshiftStatus) or ours.workload_uid != context.meta.uid:
            # The workload was deleted: another one has its name.
            return
        why = self.world.describe()
        for name in context.stable_services:
            found = self.world.cluster.services.get(Key(NAMESPACE, name))
            never = found is None and name not in served
            assert never or context.ready_endpoints(name), why
        left = given_up_pods(context)
        assert all(pod.metadata.deleting for pod in left), why

    def no_pass_writes_a_request(self, old: Rollout | None, new: Rollout | None) -> None:
        """A pass writes no approval or jump that no person wrote; else each release of a crowd would go first."""
        found = set(enumerate(NO_REQUESTS if new is None else requests_of(new.status)))
        if new is not None and new.status == self.world.intended(new.metadata.key):
            assert found <= self.sent, self.world.describe()
        self.sent |= found

    def no_share_stays_on_an_empty_side(self) -> None:
        """Not longer than the grace period, for any cause and any order of waits; a refused request may take longer."""
        now, empty = self.world.cluster.now, self.empty_sides()
        for refused in self.world.cluster.refusals.values():
            self.tried_again_at = now + max(RETRY, timedelta(seconds=refused.retry_after or 0))
        if now <= self.tried_again_at:
            self.empty_since = {}
        self.empty_since = {side: self.empty_since.get(side, now) for side in empty}
        for side, since in self.empty_since.items():
            lasted = (now - since).total_seconds()
            assert lasted <= GRACE + RETRY.total_seconds(), (
                f"{side} has had no ready pod for {lasted} s, and gets requests: {self.world.describe()}"
            )

    def empty_sides(self) -> set[str]:
        """Services that get requests and have no ready pod, while a ready pod exists.

        If the owner wants no pod, no Service is empty by mistake.
        """
        if self.no_pod_is_wanted():
            return set()
        found = set()
        for service in self.world.cluster.services:
            owned = {k: v for k, v in service.spec.selector.items() if k not in REVISION_LABELS}
            could = structs.replace(service, spec=structs.replace(service.spec, selector=owned))
            name = service.metadata.name
            answered = any(p.ready_since for p in self.world.cluster.selected(could))
            if answered and not name.endswith("-canary") and not self.ready(name):
                found.add(name)
        for route in self.world.routes:
            if route.plan is None or route.depth or route.plan.announces or route.plan.weight == 0:
                continue
            if self.ready(route.plan.stable_service) and not self.ready(route.plan.canary_service):
                found.add(route.plan.canary_service)
        return found

    def referred_objects_are_restored_last(self) -> None:
        """An object is restored one grace period after the last object that referred to it."""
        routes = [route for route in self.world.routes if route.plan is not None]
        leading, below = (any(bool(r.depth) is deep for r in routes) for deep in (False, True))
        now = self.world.cluster.now
        if self.led[0] and not leading:
            self.left_at = now
        if self.led[1] and not below:
            assert not leading, "a route refers to a restored object"
            assert self.led[0] is False, (
                "a route and the object that it refers to were restored together"
            )
            waited = (now - self.left_at).total_seconds()
            assert waited >= GRACE, f"restored {waited} s after the object that referred to it"
        self.led = (leading, below)

    def objects_are_named_in_time(self) -> None:
        """An object follows a plan no sooner than one grace period after deeper objects said something new."""
        now, said = self.world.cluster.now, dict[int, tuple[Said, ...]]()
        for route in self.world.routes:
            plan = route.plan and structs.replace(route.plan, identity="", release="")
            depth = self.world.scripts.depths.get(route.kind, 0)
            said[depth] = (*said.get(depth, ()), (route.kind, plan, route.touched))
        for depth in sorted(said, reverse=True):
            if said[depth] == self.said.get(depth, ()):
                continue
            leads = any(plan is not None and not touched for _, plan, touched in said[depth])
            deeper = [at for other, at in self.said_at.items() if other > depth]
            waited = min(((now - at).total_seconds() for at in deeper), default=GRACE)
            assert not leads or waited >= GRACE, (
                f"an object followed {waited} s after what it names: {self.world.describe()}"
            )
            if leads:
                self.said_at[depth] = now
        self.said = said

    def routes_lead_to_ready_pods(self, context: Release) -> None:
        """A route in use has ready pods behind both of its Services."""
        for route in self.world.routes:
            if route.plan is None or route.depth:
                continue
            named = route.plan.announces or self.ready(route.plan.canary_service)
            assert named, f"{route.kind}: nothing behind canary"
            if route.plan.weight != 100:
                assert self.ready(route.plan.stable_service), f"{route.kind}: stable is empty"

    def new_pods_stay_out_of_stable(self, context: Release, ours: MoonshiftStatus) -> None:
        """Before the end, the stable Service leads to the stable revision only."""
        if ours.state in BEFORE_PODS or not ours.stable_revision:
            return
        if context.target(ours.step).pinned is not Pinned.YES or ours.empty_sides or self.unpinned:
            return
        if has_request(self.world.cluster.rollouts[KEY].status):
            # The pass that honoured the approval was killed between the Service of the next step and its status.
            return
        if refused := self.world.cluster.refusals.get("PinService"):
            # New pods of the release before, to whose template the owner has returned, run already.
            later = max(RETRY, timedelta(seconds=refused.retry_after or 0))
            self.pinned_again_at = self.world.cluster.now + later
        if self.world.cluster.now <= self.pinned_again_at:
            return
        for service in context.stable_services:
            strangers = {p.revision for p in self.ready(service)} - {ours.stable_revision}
            assert not strangers, (
                f"{service} leads to {strangers}, stable is {ours.stable_revision}"
            )

    def batch_is_kept(self, context: Release, ours: MoonshiftStatus) -> None:
        """No more new pods than this step or an earlier one wants.

        Except of a workload that was made again and got another template before its controller looked: nothing is
        stable, so its controller makes every pod of the only revision that there is.
        """
        new = [pod for pod in context.new_pods if not pod.metadata.deleting]
        others = [pod for pod in context.workload.pods if not pod.metadata.deleting]
        if not ours.stable_revision and len(others) == len(new):
            return
        release, granted = self.granted
        wanted = context.batch(max(1, ours.step))
        self.granted = (ours.release, max(wanted, granted if release == ours.release else 0))
        beyond = self.surplus if context.style is Style.BLUE_GREEN else 0
        most = max(self.granted[1] + beyond, self.most_new)
        if self.replaced:
            # A Deployment under the admission pause with several revisions is filled up to its surge by
            # share, or loses what is above it.
            most += self.limits(context)[0]
            if context.style is Style.BLUE_GREEN:
                # Its controller makes new pods for the old ones that it took: as many pods in all as the step wants.
                old = [pod for pod in context.workload.pods if not pod.metadata.deleting]
                most += max(0, context.replicas - (len(old) - len(new)))
        assert len(new) <= most, f"{len(new)} new pods, {most} wanted"

    def owners_limits_are_kept(self, context: Release, ours: MoonshiftStatus) -> None:
        """Never fewer ready pods than the owner's maxUnavailable allows. When a third revision came and routes lead all
        traffic to the stable pods, two thirds are enough, or one pod fewer than the owner wants.
        """
        alive = (pod for pod in context.workload.pods if not pod.metadata.deleting)
        ready = [pod for pod in alive if pod.ready_since is not None]
        least = context.replicas - self.limits(context)[1]
        if self.replaced and context.stable_services:
            least = min(least - 1, context.enough_for_all_traffic)
        assert len(ready) >= least, f"{len(ready)} ready pods, {least} at least"


def rests(world: World) -> None:
    """Services and routes are as their owner wrote them, and there is nothing to decide."""
    why = world.describe()
    assert [s.metadata.name for s in world.cluster.services] == ["web"], why
    service = world.cluster.services[KEY]
    assert service.spec.selector == {"app": "web"}, why
    assert not service.metadata.labels, why
    assert not service.metadata.annotations, why
    assert all(route.plan is None for route in world.routes), why
    seen = world.observe(KEY)
    if seen is None:
        return
    assert seen.rollout.status.phase in (Phase.HEALTHY, Phase.DISABLED), why
    decision = decide(seen, world.cluster.now)
    assert decision.actions == (), why
    assert decision.status == seen.rollout.status, why
    assert decision.wake_at is None, why
