"""The part of an observation about metric gates and checks: answers, the named templates, packaged queries.

Invariant: caches and memory only, no request. A template kind that cannot be read is `Unavailable`, never "no such
template".
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.api.checks import CheckVerdict
from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.domain.availability import Unavailable
from controller.domain.checks.answering import CheckAnswer
from controller.domain.decision import AskCheck, Measure
from controller.domain.gates.golden import GoldenQueries
from controller.domain.gates.nesting import reached
from controller.domain.gates.templates import analyses_of
from controller.domain.gates.watching import Answer
from controller.domain.rollout.words.release_context import moonshift_status
from controller.kube.resources import (
    ANALYSIS_TEMPLATES,
    CLUSTER_ANALYSIS_TEMPLATES,
    Resource,
)
from controller.reconcilers.caches import Caches


class Measures(Protocol):
    """Asks for measurements and keeps their answers."""

    def ask(self, key: Key, asked: Measure) -> None:
        """Measure, unless the measurement is running or answered already."""
        ...

    def answers(self, key: Key) -> tuple[Answer, ...]:
        """The answers for the gates of a Rollout."""
        ...

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or has no gates any more."""
        ...


class Checks(Protocol):
    """Asks checks and keeps their answers."""

    def ask(self, key: Key, asked: AskCheck) -> None:
        """Ask, unless that is under way or answered already."""
        ...

    def answers(self, key: Key, running: Collection[str]) -> tuple[CheckAnswer, ...]:
        """The answers for the checks of a Rollout with these ids; all others are forgotten."""
        ...

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or no check of it waits for an answer."""
        ...


class Sources(Protocol):
    """The caches that are filled from the start."""

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        """Why the objects of one of these kinds are not known; None when all are."""
        ...


class Gates:
    """Observations for the gates of Rollouts."""

    def __init__(
        self,
        caches: Caches,
        sources: Sources,
        measures: Measures,
        checks: Checks,
        golden: GoldenQueries,
    ) -> None:
        self._caches = caches
        self._sources = sources
        self._measures = measures
        self._checks = checks
        self.golden = golden

    def answers(self, rollout: Rollout) -> tuple[Answer, ...]:
        """Answers for its gates; a Rollout without gates measures nothing."""
        key = rollout.metadata.key
        if not analyses_of(rollout):
            self._measures.forget(key)
            return ()
        return self._measures.answers(key)

    def forget(self, key: Key) -> None:
        """The Rollout is gone."""
        self._measures.forget(key)
        self._checks.forget(key)

    def checked(self, rollout: Rollout) -> tuple[CheckAnswer, ...]:
        """Answers for its checks that have no verdict yet."""
        key, known = rollout.metadata.key, moonshift_status(rollout.status).checks
        running = {run.id for run in known if run.verdict == CheckVerdict.RUNNING}
        if running:
            return self._checks.answers(key, running)
        self._checks.forget(key)
        return ()

    def templates(
        self, rollout: Rollout
    ) -> Mapping[TemplateRef, AnalysisTemplate | Unavailable | None]:
        """Every template that the Rollout needs, in its present form."""
        namespace = rollout.metadata.namespace
        found: dict[TemplateRef, AnalysisTemplate | Unavailable | None] = {}
        for analysis in analyses_of(rollout):
            found |= reached(analysis.templates, lambda ref: self._template(namespace, ref))
        return found

    def _template(self, namespace: str, ref: TemplateRef) -> AnalysisTemplate | Unavailable | None:
        if ref.cluster_scope:
            kind, store = CLUSTER_ANALYSIS_TEMPLATES, self._caches.cluster_analysis_templates
        else:
            kind, store = ANALYSIS_TEMPLATES, self._caches.analysis_templates
        unknown = self._sources.unavailable((kind,))
        if unknown is not None:
            return unknown
        return store.get(Key("" if ref.cluster_scope else namespace, ref.name))
