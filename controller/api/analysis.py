"""Metric gates on the wire: the `analysis` of steps and strategies, its templates, and the record of its results.

Invariant: decoding accepts everything the CRDs accept. A number is a plain JSON number; a length of time is text
such as `30s` or `5m` (`controller.api.duration`). Nothing here judges: `controller.domain.gates` does.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.meta import ObjectMeta

DEFAULT_INTERVAL = "30s"
DEFAULT_WINDOW = "5m"
DEFAULT_TIMEOUT_SECONDS = 10
DEFAULT_JOB_SECONDS = 600
DEFAULT_SOURCE_SECONDS = 30


class NoData(StrEnum):
    """The meaning of a measurement without a value."""

    HOLD = "hold"
    """The measurement does not count: it is repeated, and the gate waits."""
    PASS = "pass"
    FAIL = "fail"


class OnFailure(StrEnum):
    """The effect of a failed gate on the release."""

    PAUSE = "pause"
    ROLLBACK = "rollback"


class OnInconclusive(StrEnum):
    """The effect of an inconclusive gate on the release."""

    PAUSE = "pause"
    PASS = "pass"
    FAIL = "fail"


class Method(StrEnum):
    """How a page is asked."""

    GET = "GET"
    POST = "POST"


class Format(StrEnum):
    """The form of a page."""

    JSON = "json"
    TEXT = "text"
    """The whole page is the value, without spaces around it."""


# --- the questions ------------------------------------------------------------------------------


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """Values from `min` to `max`, both included; a limit that is left out is no limit."""

    min: float | None = None
    max: float | None = None


class ValueRule(Bounds, frozen=True, omit_defaults=True):
    """Numbers within bounds; or values that are equal to `equals`; or texts in which `matches` is found."""

    equals: str | None = None
    """A text; or a number, where the value is one."""
    matches: str | None = None
    """A regular expression of RE2 (`controller.domain.gates.expression`)."""


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the new revision's value may relate to the stable revision's over the same window."""

    ratio: Bounds | None = None
    """New divided by stable."""
    difference: Bounds | None = None
    """New minus stable."""


class SecretRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Secret in the Rollout's namespace."""

    name: str = ""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request header, for example `X-Scope-OrgID` of a multi-tenant Prometheus."""

    name: str = ""
    value: str = ""


class PrometheusQuery(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A PromQL query, asked of a server of the Prometheus HTTP API.

    Without `address` the controller's own default is asked. `samples` is a query for the number of requests behind the
    value; `minSamples` of the metric needs it. The Secret of `auth` may hold `token`; or `username` and `password`; or
    `clientID`, `clientSecret` and `tokenURL`; and `ca.crt`.
    """

    address: str = ""
    query: str = ""
    samples: str = ""
    headers: tuple[Header, ...] = ()
    auth: SecretRef | None = None
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS


class WebQuery(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A page. In JSON `valuePath` leads to a number or a text, as `data.errorRate` or `results.0.value`."""

    url: str = ""
    method: Method = Method.GET
    body: str = ""
    """Sent with a POST; JSON, if `headers` have no other Content-Type."""
    format: Format = Format.JSON
    value_path: str = ""
    samples_path: str = ""
    headers: tuple[Header, ...] = ()
    auth: SecretRef | None = None
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS


class JobQuery(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A Job (`spec` of batch/v1) that is run; it measures 1 if it succeeds and 0 if it fails.

    One that has not ended after `timeoutSeconds` is an error. Without bounds, success is wanted.
    """

    spec: msgspec.Raw = msgspec.Raw(b"{}")
    timeout_seconds: int = DEFAULT_JOB_SECONDS


class SecretKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of a Secret in the Rollout's namespace."""

    name: str = ""
    key: str = ""


class ScriptRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A script in a ConfigMap of the Rollout's namespace, and the ServiceAccount there with whose rights it acts.

    Without a key, the script's key in the ConfigMap of all namespaces is used.
    """

    name: str = ""
    key: str = ""
    service_account_name: str = ""


class SourceQuery(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A script that asks another system (`controller.domain.exchange`), and what it is given.

    Without `scriptRef` it is a script of the installation. The script never sees the values of `secrets`.
    """

    script: str = ""
    params: dict[str, msgspec.Raw] = {}
    secrets: dict[str, SecretKey] = {}
    timeout_seconds: int = DEFAULT_SOURCE_SECONDS
    script_ref: ScriptRef | None = None


class Golden(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A packaged query: `name` of `source` (`success-rate` of `istio`), asked of `address`."""

    name: str = ""
    source: str = ""
    address: str = ""
    headers: tuple[Header, ...] = ()
    auth: SecretRef | None = None


class Metric(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One value that is measured again and again, and the bounds of a good value.

    Exactly one of `prometheus`, `web`, `job`, `golden` and `source` says where it comes from. A measurement is good
    where it is within `success` and `compare`. Any other is bad. With `failure`, only a value within `failure` is bad,
    and one that is neither good nor bad is inconclusive.
    """

    name: str = ""
    prometheus: PrometheusQuery | None = None
    web: WebQuery | None = None
    job: JobQuery | None = None
    golden: Golden | None = None
    source: SourceQuery | None = None
    window: str = DEFAULT_WINDOW
    interval: str = DEFAULT_INTERVAL
    initial_delay: str = ""
    count: int | None = None
    """Measurements that count until the metric has passed; without it 1 in a step, no end in the background."""
    consecutive_success: int = 0
    """Good measurements in a row with which the metric passes, and without which it never does; 0 is no such rule."""
    success: ValueRule | None = None
    failure: ValueRule | None = None
    compare: Comparison | None = None
    min_samples: int = 0
    failure_limit: int = 0
    inconclusive_limit: int = 0
    consecutive_error_limit: int = 4
    no_data: NoData = NoData.HOLD
    dry_run: bool = False
    """Measured and reported; it decides nothing."""


class ArgumentSource(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the value of an argument is read: one of these."""

    label: str = ""
    """A label of the workload."""
    annotation: str = ""
    """An annotation of the workload."""
    secret: SecretKey | None = None
    """A Secret; its value is only in the request that is sent, never in a status."""


class Argument(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A value that texts of a metric name as `{{ args.name }}`; in a template `value` is the default."""

    name: str = ""
    value: str | None = None
    value_from: ArgumentSource | None = None


class TemplateRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An AnalysisTemplate of the same namespace, or with `clusterScope` a ClusterAnalysisTemplate."""

    name: str = ""
    cluster_scope: bool = False


class Analysis(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The metrics of a step, or (with `startingStep`) of the whole strategy in the background."""

    templates: tuple[TemplateRef, ...] = ()
    args: tuple[Argument, ...] = ()
    metrics: tuple[Metric, ...] = ()
    starting_step: int = 1
    on_failure: OnFailure = OnFailure.PAUSE
    on_inconclusive: OnInconclusive = OnInconclusive.PAUSE
    deadline_seconds: int | None = None
    """How long a step's gate may take before it counts as inconclusive."""


class AnalysisTemplateSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Metrics that steps of many Rollouts share; those of the named templates belong to them, too."""

    templates: tuple[TemplateRef, ...] = ()
    args: tuple[Argument, ...] = ()
    metrics: tuple[Metric, ...] = ()


class AnalysisTemplate(msgspec.Struct, frozen=True, rename="camel"):
    """An AnalysisTemplate or a ClusterAnalysisTemplate, as the store holds it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AnalysisTemplateSpec = AnalysisTemplateSpec()


# --- the results --------------------------------------------------------------------------------


class Verdict(StrEnum):
    """How a metric, or a whole gate, stands."""

    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"


class Reading(StrEnum):
    """The result of one measurement."""

    GOOD = "Good"
    BAD = "Bad"
    UNCLEAR = "Unclear"
    NO_DATA = "NoData"
    ERROR = "Error"


class ReadingSeen(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One of the last measurements. Numbers that JSON cannot express are texts: `NaN`, `+Inf`. Of texts only those are
    shown that the gate's author has written.
    """

    at: datetime | None = None
    reading: str = ""
    value: float | str | None = None
    stable: float | str | None = None
    samples: float | str | None = None


class MetricRun(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The state of one metric of a gate: counts of its measurements, and the last of them."""

    name: str = ""
    verdict: str = Verdict.RUNNING
    reason: str = ""
    """Why, in words."""
    query: str = ""
    """As it was sent for the new revision."""
    taken: int = 0
    """The number of all measurements so far, which also numbers the next one."""
    good: int = 0
    consecutive_good: int = 0
    bad: int = 0
    unclear: int = 0
    no_data: int = 0
    errors: int = 0
    consecutive_errors: int = 0
    last_at: datetime | None = None
    readings: tuple[ReadingSeen, ...] = ()
    dry_run: bool = False


class MetricRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One metric of a gate that has ended, with its last measurements, as the record of a release keeps it."""

    name: str = ""
    verdict: str = ""
    reason: str = ""
    readings: tuple[ReadingSeen, ...] = ()


class AnalysisRun(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The state of one gate; `step` is 0 for the background gate."""

    step: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    verdict: str = Verdict.RUNNING
    message: str = ""
    metrics: tuple[MetricRun, ...] = ()
