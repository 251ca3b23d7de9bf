"""Texts of people who may not write the gate: whatever they hold, the gate asks what its author wrote."""

import re
from itertools import product

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from yarl import URL

from controller.api.analysis import (
    Analysis,
    Argument,
    ArgumentSource,
    Header,
    JobQuery,
    Metric,
    PrometheusQuery,
    WebQuery,
)
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.gates import in_query, in_request, jobs
from controller.domain.gates.asking import asked_about
from controller.domain.gates.in_job import in_environment
from controller.domain.gates.in_query import in_query as put_in_query
from controller.domain.gates.in_request import in_address, in_header
from controller.domain.gates.origins import (
    LONGEST,
    Origin,
    Piece,
    Placed,
    Unplaced,
    Word,
    name_of_release,
)

ALWAYS_PASSES = 'x"}) * 0 or vector(0) #'
CURIOUS = st.text(alphabet="\"'`\\{}()[]#=~!,|*+-.$^/?&;:%@<> xX01é\n\r\t\x00\x85�", max_size=12)
HOSTILE = st.one_of(
    CURIOUS,
    st.text(max_size=20),
    st.sampled_from(
        [ALWAYS_PASSES, ALWAYS_PASSES.replace('"', "'"), "$(X)", "..", "a/../b", "%2e%2e"]
    ),
)
BEFORE = 'sum(rate(http{code=~"5..",'
TOKEN = re.compile(
    r"""\s+|\#[^\r\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|[A-Za-z0-9_:.]+|[=!]~|.""",
    re.DOTALL,
)


def others(text: str) -> Placed:
    return Placed("args.x", Word(text, Origin.OTHERS))


def tokens(query: str) -> list[str]:
    return [one for one in TOKEN.findall(query) if one.strip() and not one.startswith("#")]


def meant(literal: str) -> str:
    """The text that a string of PromQL means."""
    if literal[0] == "`":
        return literal[1:-1]
    return re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.DOTALL)


def differing(one: str, other: str) -> tuple[str, str]:
    """The only token in which two queries differ."""
    first, second = tokens(one), tokens(other)
    assert len(first) == len(second)
    found = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    assert len(found) <= 1
    return found[0] if found else ("'x'", "'x'")


# --- PromQL -------------------------------------------------------------------------------------


@given(text=HOSTILE, quote=st.sampled_from("\"'`"), equal=st.sampled_from(["=", "!="]))
def test_a_text_in_quotation_marks_is_one_label_and_itself(
    text: str, quote: str, equal: str
) -> None:
    def query(value: str) -> str | Unplaced:
        pieces: list[Piece] = [
            f"{BEFORE} job{equal}{quote}a-",
            others(value),
            f"-b{quote}}}[5m])) # '",
        ]
        return put_in_query(pieces)

    made, harmless = query(text), query("x")
    assert isinstance(harmless, str)
    if isinstance(made, Unplaced):
        assert not text.isprintable() or "{{" in text or (quote == "`" and "`" in text)
        return
    found, _ = differing(made, harmless)
    assert meant(found) in (f"a-{text}-b", "x")


@given(
    text=HOSTILE, other=CURIOUS, quote=st.sampled_from("\"'`"), match=st.sampled_from(["=~", "!~ "])
)
def test_a_text_in_a_regular_expression_matches_itself_only(
    text: str, other: str, quote: str, match: str
) -> None:
    made = put_in_query([f"{BEFORE}job{match}{quote}a.", others(text), f"|b{quote}}}[5m]))"])
    if isinstance(made, Unplaced):
        assert not text.isprintable() or "{{" in text or (quote == "`" and "`" in text)
        return
    found = next(one for one in tokens(made) if one[0] in "\"'`" and meant(one).startswith("a."))
    pattern = re.compile(meant(found))
    assert pattern.fullmatch(f"a?{text}")
    assert pattern.fullmatch("b")
    assume(other not in (text, ""))
    assert not pattern.fullmatch(f"a?{other}")


@given(
    text=HOSTILE, place=st.sampled_from(["{} > up", "up > {}", "rate(up[{}])", "sum by ({}) (up)"])
)
def test_outside_of_quotation_marks_only_one_number_time_or_name_stands(
    text: str, place: str
) -> None:
    before, after = place.split("{}")
    made = put_in_query([before, others(text), after])
    if not isinstance(made, Unplaced):
        assert re.fullmatch(r"[-+]?[A-Za-z0-9_.:+-]+", text)
        assert len(tokens(made)) <= len(tokens(before + "x" + after)) + 3


@pytest.mark.parametrize(
    "text", ["0.99", "12", "5m", "1h30m", "http_requests_total", "job:a", "1e-3", "-2"]
)
def test_numbers_times_and_names_need_no_quotation_marks(text: str) -> None:
    assert put_in_query(["up > ", others(text)]) == f"up > {text}"


@pytest.mark.parametrize(
    ("before", "text", "after", "why"),
    [
        ("up > ", "1 or vector(1)", "", in_query.BARE),
        ("up ", "or", " down", in_query.BARE),
        ("up / ", "Inf", "", in_query.BARE),
        ("up ", "-1", "", in_query.BARE),
        ("up > ", "", "", in_query.BARE),
        ("", "absent", " (up)", in_query.FUNCTION),
        ("", "absent", " # why\n\t(up)", in_query.FUNCTION),
        ("", "group", " by (job) (up)", in_query.FUNCTION),
        ("", "group", "\nWITHOUT(job) (up)", in_query.FUNCTION),
        ("rate(up[5m] ", "smoothed", ")", in_query.BARE),
        ('label_replace(up{a="b"}, "c", "d", "e", "', "f.*", '")', in_query.ARGUMENT),
        ('up{a="\\', 'n"', '"}', in_query.AFTER_BACKSLASH),
        ('up{a=~"\\\\', ".*", '"}', in_query.AFTER_BACKSLASH),
        ("up{a=~`\\", ".*", "`}", in_query.AFTER_BACKSLASH),
        ("up{a=`", "`} or up{a=`", "`}", in_query.BACKTICK),
        (
            "up # ",
            "\nor vector(0)",
            "",
            "it may not hold a line break or another control character",
        ),
        ('up{a="', "{{ secret a/b }}", '"}', "it may not hold {{"),
    ],
)
def test_what_cannot_be_escaped_is_refused_in_words(
    before: str, text: str, after: str, why: str
) -> None:
    assert put_in_query([before, others(text), after]) == Unplaced("args.x", why)


def test_a_word_in_a_comment_stays_there() -> None:
    made = put_in_query(["up # ", others('") or vector(0)'), "\n + up{a='", others("'"), "'}"])
    assert made == "up # \") or vector(0)\n + up{a='\\''}"


def test_the_authors_own_text_may_be_any_part_of_a_query() -> None:
    own = Placed("args.which", Word('{job="a",code=~"'))
    assert put_in_query(["up", own, others("5.."), '"}']) == r'up{job="a",code=~"5\\.\\."}'
    called = Placed("args.f", Word(" (up)"))
    assert put_in_query([others("absent"), called]) == Unplaced("args.x", in_query.FUNCTION)


@pytest.mark.parametrize(("quote", "backslash"), [('"', "\\\\"), ("`", "\\")])
def test_a_name_of_the_release_is_no_pattern(quote: str, backslash: str) -> None:
    name = Placed("rollout", name_of_release("web.v2"))
    made = put_in_query([f"up{{a=~{quote}", name, f"-.*{quote},b={quote}", name, f"{quote}}}"])
    assert made == f"up{{a=~{quote}web{backslash}.v2-.*{quote},b={quote}web.v2{quote}}}"


def test_what_has_not_the_form_of_a_name_is_no_name() -> None:
    assert name_of_release("web.v2-canary_1").origin is Origin.NAME
    for text, around in product(("$", '"', " ", "\n"), ("a{}", "{}a", "a{}b")):
        assert name_of_release(around.format(text)).origin is Origin.OTHERS


# --- addresses and headers ----------------------------------------------------------------------


@given(text=HOSTILE, other=HOSTILE)
def test_an_address_has_the_authors_parts_whatever_others_write(text: str, other: str) -> None:
    pieces: list[Piece] = [
        "http://metrics.test:81/of/",
        others(text),
        "/v?team=",
        others(other),
        "&a=1#f",
    ]
    made = in_address(pieces)
    if isinstance(made, Unplaced):
        either = text + other
        assert not either.isprintable() or "{{" in either or not text.strip(".")
        return
    url = URL(made)
    assert (url.scheme, url.host, url.port, url.user) == ("http", "metrics.test", 81, None)
    assert url.parts == ("/", "of", text, "v")
    assert url.raw_path.count("/") == 3
    assert list(url.query.items()) == [("team", other), ("a", "1")]


@pytest.mark.parametrize(
    ("before", "text", "after", "why"),
    [
        ("http://", "evil.test", "/", in_request.HOST),
        ("http://a", ".evil.test", "/", in_request.HOST),
        ("http://a:8", "1", "/", in_request.HOST),
        ("http://a", "@evil.test", "/", in_request.HOST),
        ("http://a\\", "x", "/", in_request.HOST),
        ("", "http://evil.test/", "", in_request.HOST),
        ("http://a/b/", "..", "/c", in_request.FOLDER),
        ("http://a/b/.", ".", "/c", in_request.FOLDER),
        ("http://a/b/%2E", ".", "/c", in_request.FOLDER),
        ("http://a/b?c=", "\n", "", "it may not hold a line break or another control character"),
    ],
)
def test_no_text_of_others_chooses_a_server_or_a_folder(
    before: str, text: str, after: str, why: str
) -> None:
    assert in_address([before, others(text), after]) == Unplaced("args.x", why)


def test_a_name_of_the_release_may_be_in_the_host_and_dots_in_a_query() -> None:
    service = Placed("service", name_of_release("web-canary"))
    made = in_address(["http://", service, ".shop/a?b=", others("..")])
    assert made == "http://web-canary.shop/a?b=.."


@given(text=HOSTILE)
def test_a_header_stays_one_value(text: str) -> None:
    made = in_header(["tenant-", others(text)])
    if isinstance(made, str):
        assert made == f"tenant-{text}"
        assert text.isascii()
        assert text.isprintable()
        assert not set(text) & set(',;|{}"\\')


@pytest.mark.parametrize(
    "text", ["a|b", "a,b", "a;b", "a\r\nHost: b", "é", "{{ secret a/b }}", "{", "}"]
)
def test_a_header_takes_no_second_value(text: str) -> None:
    assert in_header([others(text)]) == Unplaced("args.x", in_request.HEADER)


def test_an_ordinary_value_stands_in_a_header() -> None:
    name = Placed("namespace", name_of_release("shop"))
    assert in_header([name, "/", others("eu-1 (a=b):c")]) == "shop/eu-1 (a=b):c"


# --- Jobs ---------------------------------------------------------------------------------------


def expanded_by_kubernetes(text: str) -> str:
    """A variable's value after the kubelet's expansion, where every other variable is `SECRET`."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda found: "$" if found[0] == "$$" else "SECRET", text)


@given(text=HOSTILE, before=st.text(alphabet="$(a)", max_size=5), after=st.text("$(a)", max_size=4))
def test_a_variable_of_the_environment_has_the_very_text(
    text: str, before: str, after: str
) -> None:
    made = in_environment([before, others(text), after])
    if isinstance(made, Unplaced):
        return
    assert expanded_by_kubernetes(made).startswith(expanded_by_kubernetes(before) + text)


def smoke(**container: object) -> Metric:
    template = {"spec": {"containers": [{"name": "a", **container}], "initContainers": [{}]}}
    return Metric("smoke", job=JobQuery(msgspec.Raw(msgspec.json.encode({"template": template}))))


ZONE = Argument("zone", value_from=ArgumentSource(annotation="zone"))
WORDS = dict.fromkeys(
    ("canary.service", "stable.service", "canary.revision", "stable.revision"), "web"
)


def asked_with(annotation: str, metric: Metric, *args: Argument) -> Metric | str:
    workload = ObjectMeta(annotations={"zone": annotation})
    analysis = Analysis(args=(ZONE, *args), metrics=(metric,))
    found = asked_about(analysis, {}, workload, WORDS, {})
    if isinstance(found, Refusal):
        assert found.reason == reasons.INVALID_ANALYSIS
        return found.message
    return found[0].new


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["sh", "-c", "smoke {{ args.zone }}"]},
        {"args": ["--zone", "{{ args.zone }}"]},
        {"image": "registry.test/{{ args.zone }}"},
        {"env": [{"name": "{{ args.zone }}", "value": "1"}]},
        {"volumeMounts": [{"name": "env", "value": "{{ args.zone }}"}]},
    ],
)
def test_nobody_who_annotates_a_workload_decides_what_a_job_runs(
    container: dict[str, object],
) -> None:
    for text in ("eu", "$(id)", "; rm -rf /"):
        found = asked_with(text, smoke(**container))
        assert isinstance(found, str)
        assert 'write "$MOONSHIFT_ARG_ZONE" in a shell script' in found


def test_a_job_gets_arguments_in_the_environment_of_each_container() -> None:
    own = [
        {"name": "MOONSHIFT_ARG_LIMIT", "value": "own"},
        {"name": "Z", "value": "{{ args.zone }}"},
    ]
    found = asked_with("$(id)", smoke(env=own), Argument("limit", "1"), Argument("b-1", "$2"))
    assert isinstance(found, Metric)
    assert found.job is not None
    spec = msgspec.convert(
        jobs.tree(found.job)["template"], dict[str, dict[str, list[dict[str, object]]]]
    )
    zone = {"name": "MOONSHIFT_ARG_ZONE", "value": "$$(id)"}
    b = {"name": "MOONSHIFT_ARG_B_1", "value": "$$2"}
    assert spec["spec"]["containers"][0]["env"] == [
        zone,
        b,
        own[0],
        {"name": "Z", "value": "$$(id)"},
    ]
    assert spec["spec"]["initContainers"][0]["env"] == [
        zone,
        {"name": "MOONSHIFT_ARG_LIMIT", "value": "1"},
        b,
    ]


@pytest.mark.parametrize("before", ["$", "$(", "$$$", "a$(b"])
def test_a_text_chooses_no_variable(before: str) -> None:
    found = in_environment([before, others("(SECRET)")])
    assert found == Unplaced("args.x", "it stands behind a $, and would choose a variable")
    assert in_environment(["$$", others("(SECRET)")]) == "$$(SECRET)"
    assert in_environment([others("\n")]) == Unplaced(
        "args.x", "it may not hold a line break or another control character"
    )


def test_a_name_of_the_release_stands_in_the_environment_as_it_is() -> None:
    name = Placed("namespace", name_of_release("shop"))
    assert in_environment(["$(A)", name]) == "$(A)shop"


def test_a_name_that_is_none_stands_in_no_field_of_a_job() -> None:
    words = WORDS | {"canary.revision": "$(id)"}
    metric = smoke(args=["{{ revision }}"])
    found = asked_about(Analysis(metrics=(metric,)), {}, ObjectMeta(), words, {})
    assert isinstance(found, Refusal)
    assert "a Job gets it in no field" in found.message


def test_two_arguments_of_one_variable_are_reported() -> None:
    found = asked_with("eu", smoke(), Argument("a-b", "1"), Argument("a_b", "1"))
    assert isinstance(found, str)
    assert "a-b and a_b would be the same variable" in found


@pytest.mark.parametrize(
    "spec", [{}, {"template": {"spec": {"containers": ["x"]}}}, {"template": 1}]
)
def test_a_job_of_another_form_is_left_to_the_api_server(spec: dict[str, object]) -> None:
    query = JobQuery(msgspec.Raw(msgspec.json.encode(spec)))
    found = asked_with("eu", Metric("smoke", job=query))
    assert isinstance(found, Metric)
    assert found.job is not None
    assert jobs.tree(found.job) == spec


# --- the whole way ------------------------------------------------------------------------------


def test_an_annotation_cannot_make_a_gate_that_always_passes() -> None:
    query = 'sum(rate(errors{team="{{ args.zone }}"}[{{ window }}]))'
    found = asked_with(ALWAYS_PASSES, Metric("m", prometheus=PrometheusQuery(query=query)))
    assert isinstance(found, Metric)
    assert found.prometheus is not None
    assert found.prometheus.query == r'sum(rate(errors{team="x\"}) * 0 or vector(0) #"}[5m]))'


@pytest.mark.parametrize(
    "metric",
    [
        Metric("m", prometheus=PrometheusQuery(query="up > {{ args.zone }}")),
        Metric("m", prometheus=PrometheusQuery(samples="up > {{ args.zone }}")),
        Metric("m", prometheus=PrometheusQuery(address="http://{{ args.zone }}.test")),
        Metric("m", prometheus=PrometheusQuery(headers=(Header("a", "{{ args.zone }}"),))),
        Metric("m", web=WebQuery(url="http://{{ args.zone }}.test")),
        Metric("m", web=WebQuery(headers=(Header("a", "{{ args.zone }}"),))),
    ],
)
def test_every_text_of_a_metric_refuses_what_it_cannot_escape(metric: Metric) -> None:
    found = asked_with("a,b c", metric)
    assert isinstance(found, str)
    assert "the value of {{ args.zone }} may not stand there" in found


def test_a_value_of_the_workload_is_short() -> None:
    metric = Metric("m", prometheus=PrometheusQuery(query="up{a='{{ args.zone }}'}"))
    assert isinstance(asked_with("x" * LONGEST + "\n", metric), Metric)
    found = asked_with("x" * (LONGEST + 1), metric)
    assert isinstance(found, str)
    assert "may have 1024 characters at most" in found
