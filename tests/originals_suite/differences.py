"""Specs that are not to pass, each with the difference that was chosen on purpose.

Why it exists: a spec that fails is either a defect of Moonshift or stands here. Invariant: each entry names a spec that
there is, by its place in the pinned version; `docs/compatibility.md` has the same reasons. It must not hold a spec that
passes.
"""

NO_DEPLOYMENT_CONTROLLER = "no controller of Deployments by annotations without a Rollout"
NO_BATCH_RELEASE = "asks for the BatchRelease, which nothing here needs"
NOT_PAUSED = (
    "asks for `paused` of a Deployment in partition style, which is held by `minReadySeconds`"
)
TARGET_STAYS = "asks for a renamed target of the autoscaler, whose scaling is held instead"

DIFFERENCES = {
    "deployment_test.go:238": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:252": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:268": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:284": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:299": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:319": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:334": NO_DEPLOYMENT_CONTROLLER,
    "deployment_test.go:352": NO_DEPLOYMENT_CONTROLLER,
    "rollout_test.go:1644": NO_BATCH_RELEASE,
    "rollout_v1beta1_test.go:518": NO_BATCH_RELEASE,
    "rollout_v1beta1_test.go:834": NO_BATCH_RELEASE,
    "rollout_v1beta1_test.go:1184": NO_BATCH_RELEASE,
    "rollout_test.go:3122": NOT_PAUSED,
    "rollout_v1beta1_test.go:2703": TARGET_STAYS,
    "rollout_v1beta1_test.go:2816": TARGET_STAYS,
}
