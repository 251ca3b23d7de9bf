"""Public reports of users of such tools and gateways, and what Moonshift must do in the same situation.

Why it exists: users of other tools met situations that nobody here thought of. Each row is a situation in our own
words, never a copied text. Rows are added and never taken away; a row whose result is not `RIGHT` says why.
"""

from dataclasses import dataclass
from enum import StrEnum

ARGO = "argoproj/argo-rollouts"
FLAGGER = "fluxcd/flagger"
KRUISE = "openkruise/kruise"
KRUISE_ROLLOUTS = "openkruise/rollouts"
GATEWAY_API = "argoproj-labs/rollouts-plugin-trafficrouter-gatewayapi"
CONTOUR = "argoproj-labs/rollouts-plugin-trafficrouter-contour"
NGINX = "kubernetes/ingress-nginx"


class Result(StrEnum):
    """The behaviour of the product in the reported situation."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


@dataclass(frozen=True)
class Report:
    """One report."""

    repository: str
    number: int
    seen: str
    """The observation of the user of the other tool."""
    wanted: str
    """What Moonshift must do."""
    result: Result = Result.RIGHT
    reason: str = ""
    """The missing part, where the result is not right; the test then asserts today's behaviour."""

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
        "During an abort the selector of the canary Service alternated between two hashes, and requests failed.",
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
        "A version that was given up is held: the message names the command that tries it again.",
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
        " that its owner sets before the deletion keeps the stable pods. In canary style there is no such pause:"
        " the Deployment is paused for the release already.",
    ),
    Report(
        ARGO,
        1852,
        "A new version in the middle of another release let pods of the middle version come and go.",
        "Pods of a version that was replaced only become fewer.",
    ),
    Report(
        ARGO,
        1295,
        "Three ReplicaSets had pods for hours.",
        "When the newest version waits at its step, no pod of the versions between is left.",
    ),
    Report(
        ARGO,
        1690,
        "Another image while a canary waited was not released.",
        "Of many versions in a row the newest is released, from step 1.",
    ),
    Report(
        FLAGGER,
        30,
        "A new revision in the middle of an analysis took over the progress of the former one.",
        "Another version begins at step 1, and all traffic leaves the former one first.",
    ),
    Report(
        ARGO,
        4261,
        "While a rollout was paused, more replicas had no effect.",
        "A paused Rollout follows the owner's number of replicas.",
    ),
    Report(
        ARGO,
        738,
        "After scaling up in the middle of an update all additional pods were new ones.",
        "Both versions grow, in the shares of the step.",
    ),
    Report(
        KRUISE,
        2239,
        "An autoscaler that worked many times in a release moved the shares of the versions.",
        "After many changes of the size the shares are those of the step.",
    ),
    Report(
        ARGO,
        1415,
        "An autoscaler acted while new pods were starting, and the stable pods were scaled to nothing.",
        "Stable pods stay within the owner's maxUnavailable.",
    ),
    Report(
        ARGO,
        3583,
        "Replicas were raised together with the image; nobody could say how many pods of which version come.",
        "The new number counts from the first step.",
    ),
    Report(
        FLAGGER,
        574,
        "A number of replicas that was raised with a release got lost at its end.",
        "The release ends with the owner's new number of pods.",
    ),
    Report(
        ARGO,
        4541,
        "After scaling to nothing the Service still selected one revision's hash.",
        "The Service names the stable version alone, and its pods are served when they come back.",
    ),
    Report(
        ARGO,
        4950,
        "A release of a workload without replicas waited at its pauses.",
        "Without replicas there is nothing to approve: the release ends, and later pods are new ones.",
    ),
    Report(
        ARGO,
        4200,
        "Under blue-green, after a change of the replicas, the preview stayed at the former version.",
        "The new side follows size and version.",
    ),
    Report(
        ARGO,
        2857,
        "Canary pods were counted by the autoscaler, which raised the stable side to its maximum.",
        "The extra Deployment's pods are no part of the owner's replicas.",
    ),
    Report(
        ARGO,
        2050,
        "When pods of the canary were missing, the stable side was scaled down nevertheless.",
        "The step does not go on, and no stable pod goes.",
    ),
    Report(
        ARGO,
        1774,
        "A good version was stuck because the stable one was broken.",
        "The good version gets through.",
    ),
    Report(
        ARGO,
        995,
        "As above, with probes of the stable version that always fail.",
        "As above, in both styles.",
    ),
    Report(
        FLAGGER,
        1247,
        "A quota allowed a part of the new pods only; the deadline never took effect.",
        "The release is Stalled with the quota's words, and can be rolled back.",
    ),
    Report(
        ARGO,
        849,
        "Weights that somebody changed by hand stayed.",
        "The route is written again at once.",
    ),
    Report(
        KRUISE_ROLLOUTS,
        210,
        "In the middle of a release the stable Service had no endpoint, and every page failed.",
        "A route names a Service only while it has ready pods, in both styles.",
    ),
    Report(
        ARGO,
        71,
        "Services that were deleted and made again led to pods of both versions.",
        "A Service that was deleted and made again is pinned again, and free after the end.",
    ),
    Report(
        KRUISE,
        376,
        "A rollback deleted the good pod of a CloneSet because the new one was not ready.",
        "A rollback removes the new pods; no ready stable pod goes.",
    ),
    Report(
        KRUISE,
        632,
        "A rollback by the partition of a CloneSet took one of two new pods back.",
        "A rollback takes every new pod back, whatever the owner's partition is.",
    ),
    Report(
        KRUISE,
        1153,
        "A paused CloneSet with maxSurge replaced pods all the same.",
        "Before the first step no new pod comes, at a step as many as it says.",
    ),
    Report(
        KRUISE,
        286,
        "With partition and maxSurge more new pods came than the partition allowed.",
        "As above.",
    ),
    Report(
        KRUISE,
        1749,
        "Where pods of a StatefulSet were deleted above or below the partition, they came back in the wrong version.",
        "A pod that is deleted while a step waits comes back in its own version.",
    ),
    Report(
        ARGO,
        2235,
        "The Service changed to the new version after the old pods were gone.",
        "At every instant of a blue-green release the Service has ready pods.",
    ),
    Report(
        ARGO,
        83,
        "After a change from blue-green to canary the Service kept the hash of the former strategy.",
        "No pin outlives its release; the next release in the other style reaches its pods.",
    ),
    Report(
        GATEWAY_API,
        87,
        "A step by headers did not work where the owner's rule has filters: the copy had none of them.",
        "The copy has the owner's filters, and requests arrive under the same path.",
    ),
    Report(
        GATEWAY_API,
        217,
        "Rules that the release had nothing to do with disappeared from the HTTPRoute.",
        "Rules of other Services stay as they are.",
    ),
    Report(
        GATEWAY_API,
        158,
        "The weight of a step was written into the rule by header, too: such requests missed the new version.",
        "Requests with the step's header all go to the new version.",
    ),
    Report(
        GATEWAY_API,
        151,
        "Fast releases one after another left rules by header behind, which led to pods that were gone.",
        "One rule at a time, and none after the end.",
    ),
    Report(
        ARGO,
        2769,
        "Another release before the end of the first one added the same header rule to the VirtualService again.",
        "As above, in every style.",
    ),
    Report(
        ARGO,
        4716,
        "A restart of the pods took the header rule of a waiting step away for good.",
        "Neither restarted pods nor a restarted controller change the routes of a step.",
    ),
    Report(
        ARGO,
        2266,
        "The retries of the owner's VirtualService were lost in a release.",
        "Retries and timeouts stay, in the copy too.",
    ),
    Report(
        ARGO,
        2767,
        "A condition on a missing header was emptied at the end of a release.",
        "The condition stays in every step.",
    ),
    Report(
        ARGO,
        2526,
        "A rule without a goal was written beside delegating rules; Istio refused it, and the release never ended.",
        "Rules that delegate stay whole, and each rule has exactly one goal.",
    ),
    Report(
        FLAGGER,
        968,
        "Websockets and response headers of an HTTPProxy were lost.",
        "All fields of the route stay, in the copy too.",
    ),
    Report(
        CONTOUR,
        75,
        "Of several routes to the Service only one got the share.",
        "Every route of the Service gets the share.",
    ),
    Report(
        FLAGGER,
        736,
        "Traefik ignored the whole weighted service as long as one of its Services had no endpoint.",
        "The canary Service is named only when it has ready pods.",
    ),
    Report(
        NGINX,
        3475,
        "A canary Ingress did not rewrite as the other one did.",
        "The canary Ingress has the owner's rewrite.",
    ),
    Report(
        NGINX,
        9830,
        "A canary Ingress with a path that the main one sends elsewhere had no effect.",
        "The canary Ingress has the paths of the Service, each with the share, and no other.",
    ),
    Report(
        NGINX,
        3616,
        "A canary Ingress took requests of another host.",
        "The share is given in the hosts of the Service alone.",
    ),
    Report(
        KRUISE_ROLLOUTS,
        309,
        "The controller crashed when the plan got shorter than the step that came next.",
        "The new plan is walked to its end, from a step that it has.",
    ),
    Report(
        ARGO,
        4973,
        "When the workload grew after an abort, pods of the aborted version came back.",
        "After a rollback growth brings stable pods alone.",
    ),
    Report(
        ARGO,
        3565,
        "A manifest came with an older number of replicas and another template; the stable pods fell to nothing.",
        "The owner's number and maxUnavailable hold from the first moment.",
    ),
    Report(
        ARGO,
        4365,
        "The release did not end as long as a cluster autoscaler evicted single pods.",
        "The release ends.",
    ),
    Report(
        ARGO,
        1337,
        "An abort after several steps left some of the canary's pods.",
        "A rollback takes every new pod, from any step.",
    ),
    Report(
        ARGO,
        2119,
        "An abort from a late step took pods away faster than the stable ones came.",
        "As many pods are ready as the owner demands, all the time.",
    ),
    Report(
        ARGO,
        2793,
        "After the promotion pods of the former version stayed.",
        "No pod of the former version is left.",
    ),
    Report(
        FLAGGER,
        1026,
        "Each time a chart applied the Service, its selector fell back for some seconds, and the Ingress answered 503.",
        "The pin stays while the owner's manifest is applied, and pods are ready all the time.",
    ),
    Report(
        ARGO,
        555,
        "After a change from blue-green to canary the Rollout was stuck.",
        "A release whose style changes in the middle can be approved to its end, and rolled back.",
    ),
    Report(
        FLAGGER,
        787,
        "A canary Ingress that stayed after its release made the controller refuse the owner's next Ingress.",
        "No canary Ingress is left after a release.",
    ),
    Report(
        ARGO,
        777,
        "A failed analysis took all new pods at once, before the old ones were back, in spite of maxUnavailable 0.",
        "A gate that fails late and rolls back leaves as many ready pods as the owner demands, all the time.",
    ),
    Report(
        ARGO,
        2824,
        "After a failed analysis every further try was ended at once by the result of the first one.",
        "A version that is tried again after a failed gate is measured again.",
    ),
    Report(
        ARGO,
        3120,
        "A canary that was tried again after an abort got no pods.",
        "It starts again at step 1, with the pods of step 1.",
    ),
    Report(
        ARGO,
        1411,
        "A background analysis failed, and the release went on to its next weights.",
        "A background gate that fails stops the release at the step where it is.",
    ),
    Report(
        ARGO,
        3898,
        "A third version came during a step with a header: requests with the header met a Service without pods.",
        "No route names the canary Service while it has no ready pod, also when another version comes.",
    ),
    Report(
        ARGO,
        3501,
        "From a step with a number of pods to one with a share, the only canary pod was deleted and another one made.",
        "From step to step no new pod goes, whatever unit the numbers have.",
    ),
    Report(
        ARGO,
        3586,
        "When the last new pods came, the last old ones went at once, while the mesh still sent them requests.",
        "A Service has ready pods as long as a route names it, up to the last move.",
    ),
    Report(
        FLAGGER,
        1591,
        "A pod did not become ready in the promotion: the deadline was written into the log for ever.",
        "The last move has the deadline of a step, too, and the release can be rolled back from there.",
    ),
    Report(
        FLAGGER,
        1931,
        "When the promoted pods failed, all healthy pods of the application were taken away.",
        "The Service keeps ready pods while the last move fails, and in the rollback from there.",
    ),
    Report(
        FLAGGER,
        1578,
        "Containers crashed one after another: the canary waited for its pods for hours, beyond its deadline.",
        "Pods that become ready and break again at once do not hold the deadline up.",
    ),
    Report(
        FLAGGER,
        1035,
        "An application without requests has no values to measure, so each release failed.",
        "Without data a gate holds the step and says so, or passes, as its owner decides.",
    ),
    Report(
        FLAGGER,
        930,
        "A weight of 0 was left out of the TrafficSplit, and the mesh took another one for it.",
        "Each backend of a TrafficSplit has its weight, a weight of 0 as well.",
    ),
    Report(
        CONTOUR,
        52,
        "Nobody could say what becomes of the weight of a third Service in the route.",
        "A third Service keeps its part of the requests; the stable Service's part is divided.",
    ),
    Report(
        NGINX,
        9745,
        "The total of the weights was read in one place and not in another: the canary got ten times its share.",
        "The share is in hundredths, whatever total the owner's own Ingress names.",
    ),
)
