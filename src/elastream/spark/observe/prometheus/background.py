"""Asks Prometheus in a thread of its own, so that a server that is silent delays no look.

A look takes what was answered last. Each reading carries the time it was scraped at, so that one that no other follows
grows old and becomes unknown, as every other reading does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from elastream.config import PrometheusSettings
from elastream.config.prometheus import compile_label
from elastream.core.errors import ObservationFailed, spell_error
from elastream.core.log import log
from elastream.core.observation import Reading
from elastream.core.sanitizer import sanitizer
from elastream.spark.observe.prometheus.client import PrometheusClient
from elastream.spark.observe.prometheus.questions import (
    SAYS,
    Labels,
    OutsideAnswers,
    Question,
    SeriesSource,
    Subject,
    ask,
)

# An exporter is scraped for the first time after that, and a young application has no series before.
_FIRST_WITHIN_S = 60.0
# How far the server's clock is ahead is measured with every question, and a sample's time by ours moves with that.
_SAME_S = 0.5


class OutsideReadings(Protocol):
    """What is known from outside Spark, as a look takes it."""

    @property
    def labels(self) -> Labels:
        """What series belong to."""

    @property
    def subjects(self) -> frozenset[Subject]:
        """What is asked at all."""

    @property
    def max_age_s(self) -> float:
        """What is older is unknown."""

    def latest(self) -> OutsideAnswers:
        """What was answered last."""

    def troubles(self) -> tuple[str, ...]:
        """Why something is not known, a sentence, if anything is wrong."""

    def stop(self) -> None:
        """Ask no more."""


class PrometheusWatch:
    """Asks one server again and again. Implements OutsideReadings."""

    def __init__(
        self,
        client: SeriesSource,
        questions: Sequence[Question],
        labels: Labels,
        *,
        every_s: float,
        window_s: float,
        max_age_s: float,
    ) -> None:
        self.labels = labels
        self.subjects = frozenset(question.subject for question in questions)
        self._client = client
        self._questions = tuple(questions)
        self._every_s, self._window_s, self.max_age_s = every_s, window_s, max_age_s
        self._answers = OutsideAnswers()
        self._failures: Mapping[Subject, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="elastream-prometheus", daemon=True)
        self._begun_s = time.monotonic()
        self._newest: dict[Subject, tuple[float, int]] = {}
        """By subject: when the newest sample was scraped, and how many in a row came as late as that."""
        self._has_told_old = False

    def start(self) -> PrometheusWatch:
        """Begin to ask."""
        self._begun_s = time.monotonic()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ask no more; an answer that is on its way is not waited for."""
        self._ended.set()

    def latest(self) -> OutsideAnswers:
        """What was answered last."""
        return self._answers

    def troubles(self) -> tuple[str, ...]:
        """One sentence, as long as something is wrong."""
        reasons: dict[str, list[str]] = {}
        for subject, reason in self._failures.items():
            reasons.setdefault(reason, []).append(SAYS[subject])
        told = [f"{reason} (not known: {', '.join(sorted(unknown))})" for reason, unknown in reasons.items()]
        return (sanitizer().line(f"prometheus at {self._client.place}: {'; '.join(told)}"),) if told else ()

    def _run(self) -> None:
        while not self._ended.is_set():
            began_s = time.monotonic()
            try:
                self.ask_once()
            except Exception as error:
                # Whatever it is, the next answer may be a better one.
                self._failures = dict.fromkeys(self.subjects, spell_error(error))
            self._ended.wait(max(0.1, self._every_s - (time.monotonic() - began_s)))

    def ask_once(self) -> None:
        """Ask everything, once."""
        failures: dict[Subject, str] = {}
        try:
            server_s, ahead_s = self._client.clock()
        except ObservationFailed as wrong:
            self._failures = dict.fromkeys(self.subjects, str(wrong))
            return
        for question in self._questions:
            try:
                found = ask(
                    self._client, question, self.labels, window_s=self._window_s, server_s=server_s, ahead_s=ahead_s
                )
            except ObservationFailed as wrong:
                failures[question.subject] = str(wrong)
                continue
            if not found and time.monotonic() - self._begun_s > _FIRST_WITHIN_S:
                failures[question.subject] = f"no series for prometheus.{question.subject}; is it scraped?"
            self._tell_old(question.subject, found, server_s - ahead_s)
            self._answers = _with(self._answers, question.subject, found)
        self._failures = failures

    def _tell_old(self, subject: Subject, found: Mapping[str, Reading], utc_s: float) -> None:
        """Once: samples that come so seldom, or so late, that the one before is too old by then.

        One after which none comes is another matter, and so is the first after a gap.
        """
        at_s = max((reading.at_s for reading in found.values()), default=None)
        before_s, late = self._newest.get(subject, (at_s, 0))
        if at_s is None or before_s is None or (at_s - before_s < _SAME_S and subject in self._newest):
            return
        age_s = utc_s - before_s
        late = late + 1 if age_s + self._every_s > self.max_age_s else 0
        self._newest[subject] = at_s, late
        if late > 1 and not self._has_told_old:
            self._has_told_old = True
            log.warning(
                "prometheus.%s is told anew when what was told is %.0f s old, and what is older than %g s is unknown, "
                "so that it is known at some looks only: scrape more often, or raise max_age",
                subject, age_s, self.max_age_s,
            )  # fmt: skip


def watch_for(settings: PrometheusSettings, names: Mapping[str, str], max_age_s: float) -> PrometheusWatch | None:
    """What asks as it was set, before it begins; None where nobody is asked. `names` are put into the queries."""
    if settings.url is None:
        return None
    client = PrometheusClient(
        settings.url, token_file=settings.token_file, user=settings.user, password_file=settings.password_file,
        timeout_s=settings.timeout_s,
    )  # fmt: skip
    asked: list[tuple[Subject, str | None, str | None]] = [
        ("cpu", settings.cpu, settings.cpu_times),
        ("memory", settings.memory, settings.memory_times),
        ("lag", settings.lag, settings.lag_times),
    ]
    return PrometheusWatch(
        client,
        [Question(name, promql, times).filled(names) for name, promql, times in asked if promql is not None],
        Labels(
            executor=settings.executor_label,
            pattern=compile_label(settings.executor_pattern),
            is_host=settings.executor_is == "host",
            query=settings.query_label,
        ),
        every_s=settings.every_s,
        window_s=settings.window_s,
        max_age_s=max_age_s,
    )


def _with(answers: OutsideAnswers, subject: Subject, found: Mapping[str, Reading]) -> OutsideAnswers:
    if subject == "cpu":
        return replace(answers, cpu=found)
    return replace(answers, memory=found) if subject == "memory" else replace(answers, lag=found)
