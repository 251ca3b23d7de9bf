"""The checks of a release: a line each."""

from datetime import datetime

from rich.text import Text

from controller.api.checks import CheckVerdict
from controller.cli.render.words import age, lasting
from controller.cli.views.view import CheckView

_STYLES = {
    CheckVerdict.PASSED.value: "green",
    CheckVerdict.APPROVED.value: "green",
    CheckVerdict.FAILED.value: "bold red",
}


def check_line(check: CheckView, now: datetime) -> Text:
    """The check's name and place, its state, its words, and when it is asked again."""
    where = f"of step {check.step}" if check.step else "of the start"
    text = Text(f"check {check.name} {where} ({check.at})  ")
    text.append(check.verdict, style=_STYLES.get(check.verdict, "cyan"))
    running = check.verdict == CheckVerdict.RUNNING
    if running:
        text.append(lasting(check.since, now), style="dim")
    text.append(f"  {check.message or 'no answer yet'}", style="default")
    if running and check.again_at is not None:
        left = age(now, check.again_at)
        text.append(f"  asked again {'now' if left == '0s' else f'in {left}'}", style="dim")
    return text
