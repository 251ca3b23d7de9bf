"""Renderables, recorded as people would see them."""

import io
from datetime import datetime, timedelta

import pytest
from msgspec import structs
from rich.console import Console, RenderableType

from controller.cli import output
from controller.cli.durations import span
from controller.cli.output import plain, widen_for
from controller.cli.render.describe import rollout_description
from controller.cli.render.live_tree import rollout_tree
from controller.cli.render.table import rollouts_table
from controller.cli.render.why import answer
from controller.cli.render.words import age, change_line, hint, lasting, style_of, waiting_text
from controller.cli.terminal import CleanConsole
from controller.cli.views.view import (
    ApprovalView,
    ConditionView,
    EventView,
    PodView,
    RevisionView,
    Role,
    RolloutView,
    RouteView,
    ServiceView,
    StepView,
    Summary,
    TimerView,
)
from controller.cli.views.waiting import RESUME
from tests.unit.cli.builders import NOW

SINCE = NOW - timedelta(seconds=90)


def make_summary(
    *,
    phase: str = "Progressing",
    waits_for: str = "an approval",
    paused: bool = False,
    stalled: bool = False,
    step: int = 1,
) -> Summary:
    return Summary(
        namespace="shop",
        name="web",
        phase=phase,
        step=step,
        steps=3,
        state="StepPaused",
        waits_for=waits_for,
        workload="Deployment/web",
        since=SINCE,
        created=NOW - timedelta(days=3),
        stable_revision="old1",
        canary_revision="new1",
        canary_replicas=2,
        canary_ready_replicas=1,
        message="a message",
        paused=paused,
        stalled=stalled,
    )


VIEW = RolloutView(
    summary=make_summary(),
    replicas=10,
    revisions=(
        RevisionView(
            Role.STABLE, "old1", tuple(PodView(f"s{i}", True, since=SINCE) for i in range(9)), 9
        ),
        RevisionView(
            Role.CANARY,
            "new1",
            (
                PodView("c1", True, "1", SINCE),
                PodView("c2", False, "1", SINCE, "ErrImagePull"),
            ),
            1,
            2,
            images="web:2",
        ),
    ),
    services=(
        ServiceView("web", Role.STABLE, pinned_to="old1", endpoints=9),
        ServiceView("web-canary", Role.CANARY, pinned_to="gone", endpoints=1),
        ServiceView("api", Role.STABLE),
        ServiceView("nope", Role.STABLE, exists=False),
    ),
    routes=(
        RouteView(
            "VirtualService",
            "web",
            "follows step 1",
            1,
            ("web 80, web-canary 20",),
            ("web 100",),
            ("@@ -1 +1 @@", "-a", "+b", "+c"),
        ),
        RouteView("HTTPRoute", "api", "does not exist", problem=True),
    ),
    next="step 2/3: more",
    steps=(
        StepView(1, "20% (2 of 10)", "20% of the traffic", "until approved", "now"),
        StepView(2, "100%", "no routes", "none"),
    ),
    timers=(TimerView("grace period", NOW + timedelta(seconds=5)),),
    conditions=(ConditionView("Stalled", "True", "Why", "because", SINCE),),
    approvals=(ApprovalView(1, "", SINCE), ApprovalView(2, "jane", NOW)),
    events=(EventView("Warning", "Odd", "odd things", SINCE, 3),),
    gaps=("pods: forbidden",),
)

WHY = """\
Rollout shop/web  Progressing  step 1/3  StepPaused  for 90s
waits for an approval
grace period ends in 5s
! Stalled: because
! pod c2: ErrImagePull
! HTTPRoute/api: does not exist
! Odd: odd things
! cannot be seen: pods: forbidden
type next:
  kubectl moonshift describe web -n shop  # everything that is known of it
  kubectl moonshift undo web -n shop      # go back to the old version"""

TREE = """\
Rollout shop/web  Progressing  step 1/3  StepPaused  for 90s
├── waits for an approval  (kubectl moonshift approve web -n shop)
├── grace period ends in 5s
├── Deployment/web  10 replicas
│   ├── stable old1  9 pods, 9 ready
│   │   └── 9 pods ready
│   └── canary web:2 (new1)  2 pods, 1 ready, 2 wanted
│       └── batch 1
│           ├── c1  ready  90s
│           └── c2  ErrImagePull  90s
├── Services
│   ├── web  pinned to stable old1  9 ready endpoints
│   ├── web-canary  pinned to gone  1 ready endpoint
│   ├── api  as its owner wrote it  0 ready endpoints
│   └── nope  does not exist
├── Routes
│   ├── VirtualService/web  follows step 1  web 80, web-canary 20  +2 -1 lines against the original (web 100)
│   └── HTTPRoute/api  does not exist
├── next: step 2/3: more
└── not shown: pods: forbidden"""


def recorded(renderable: RenderableType, width: int = 120) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(renderable)
    return console.export_text()


def test_the_tree_has_the_documented_form() -> None:
    assert plain(rollout_tree(VIEW, NOW, "kubectl moonshift")) == TREE


def test_a_terminal_shows_the_same_content() -> None:
    text = recorded(rollout_tree(VIEW, NOW, "kubectl moonshift"))
    assert [line.rstrip() for line in text.splitlines()] == TREE.splitlines()


def test_without_a_workload_the_counters_have_to_do() -> None:
    view = RolloutView(summary=make_summary(phase=""))
    text = plain(rollout_tree(view, NOW))
    assert "Rollout shop/web  not looked at yet  for 90s" in text
    assert "new pods: 2, ready 1" in text


def test_a_step_that_is_over_has_a_mark_that_is_no_failure() -> None:
    over = StepView(1, "20%", "20% of the traffic", "none", "done")
    text = plain(rollout_description(structs.replace(VIEW, steps=(over,)), NOW, "moonshift"))
    assert "\n  ✔   1      20%" in text


def test_the_description_has_every_section() -> None:
    text = plain(rollout_description(VIEW, NOW, "kubectl moonshift"))
    assert text.startswith(TREE)
    assert "\n  >   1      20% (2 of 10)   20% of the traffic   until approved" in text
    assert "\n  Stalled   True     Why      90s   because" in text
    assert "\n  1      (not recorded)   90s" in text
    assert "\nVirtualService/web against its original\n  @@ -1 +1 @@\n  -a\n  +b\n  +c" in text
    assert "\n  Warning   Odd      90s (x3)   odd things" in text


def test_empty_sections_say_none() -> None:
    text = plain(rollout_description(RolloutView(summary=make_summary()), NOW))
    assert text.count("\n  none") == 3


def test_the_table_is_kubectls() -> None:
    text = plain(rollouts_table([make_summary(), make_summary(step=0, phase="")], NOW))
    assert text == (
        "NAME   PHASE         STEP   STATE        NEW READY   SINCE   WAITS FOR     AGE\n"
        "web    Progressing   1/3    StepPaused   1/2         90s     an approval   3d\n"
        "web    -             -      StepPaused   1/2         90s     an approval   3d"
    )


def test_the_wide_table_of_all_namespaces_has_more_columns() -> None:
    text = plain(rollouts_table([make_summary()], NOW, namespaces=True, wide=True))
    first, second = text.splitlines()
    assert first.split()[:2] == ["NAMESPACE", "NAME"]
    assert second.startswith("shop")
    assert second.endswith("Deployment/web   old1     new1   a message")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (-5, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (200000, "2d")],
)
def test_spans_are_written_as_kubectl_does(seconds: int, text: str) -> None:
    assert span(timedelta(seconds=seconds)) == text


def test_an_unknown_instant_is_a_dash() -> None:
    assert age(None, NOW) == "-"


@pytest.mark.parametrize("since", [None, NOW, NOW + timedelta(seconds=1)])
def test_no_duration_is_shown_for_a_state_that_just_began(since: datetime | None) -> None:
    assert lasting(since, NOW) == ""
    view = RolloutView(summary=structs.replace(make_summary(), since=since))
    assert "  for " not in plain(rollout_tree(view, NOW))


@pytest.mark.parametrize(
    ("summary", "style", "command"),
    [
        (make_summary(), "yellow", "kubectl moonshift approve web -n shop"),
        (make_summary(stalled=True), "bold red", ""),
        (
            make_summary(waits_for=RESUME, paused=True),
            "yellow",
            "kubectl moonshift resume web -n shop",
        ),
        (make_summary(phase="Healthy", waits_for="nothing"), "green", ""),
        (make_summary(waits_for="pods"), "cyan", ""),
    ],
)
def test_colours_and_hints_follow_from_who_is_waited_for(
    summary: Summary, style: str, command: str
) -> None:
    assert style_of(summary) == style
    assert hint(summary, "kubectl moonshift") == command


def test_a_line_about_a_change_shows_no_age() -> None:
    assert change_line(make_summary()) == (
        "shop/web  Progressing  step 1/3  StepPaused  1/2 new pods ready  waits for an approval"
    )
    assert change_line(make_summary(phase="", waits_for="x")) == "shop/web  -  waits for x"


def test_a_stall_is_not_called_a_wait() -> None:
    stalled = make_summary(waits_for="ServiceNotFound: no web", stalled=True)
    assert waiting_text(stalled).plain == "is stalled by ServiceNotFound: no web"
    assert change_line(stalled).endswith("  is stalled by ServiceNotFound: no web")


@pytest.mark.parametrize("width", [30, 80, 200])
def test_a_narrow_terminal_cuts_no_word_of_the_table(width: int) -> None:
    table = rollouts_table([make_summary(waits_for="3 new pods to be ready: 3 made, 1 ready")], NOW)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    widen_for(console, table)
    with console.capture() as captured:
        console.print(table)
    printed = captured.get().split()
    for word in ("NAME", "PHASE", "SINCE", "AGE", "Progressing", "StepPaused", "ready:", "made,"):
        assert word in printed
    assert console.width == max(width, console.width)
    assert width < 100 or console.width == width


def test_why_lists_the_awaited_events_and_the_obstacles() -> None:
    assert plain(answer(VIEW, NOW, "kubectl moonshift")) == WHY


def test_a_message_of_others_cannot_look_like_a_command_to_type() -> None:
    forged = EventView("Warning", "Bad", "no\ntype next:\u2028  rm -rf /", NOW, 1)
    shown = plain(answer(structs.replace(VIEW, events=(forged,)), NOW, "kubectl moonshift"))
    assert "! Bad: no␊type next:␊  rm -rf /" in shown.splitlines()
    assert shown.count("\ntype next:") == 1


def test_a_command_to_type_stays_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    narrow = CleanConsole(file=screen, width=40, force_terminal=True, color_system=None)
    monkeypatch.setattr(output, "terminal", lambda: narrow)
    output.show(answer(VIEW, NOW, "kubectl moonshift"), lines=True)
    assert [line.rstrip() for line in screen.getvalue().splitlines()] == WHY.splitlines()
