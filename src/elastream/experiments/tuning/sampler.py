"""Which settings are tried next: all of a grid, by chance, or where an optimiser expects the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product, takewhile
from typing import TYPE_CHECKING, Protocol

import numpy as np

from elastream.core.errors import BadInput
from elastream.core.extras import MissingExtra
from elastream.experiments.tuning.space import SearchedSetting, Values

if TYPE_CHECKING:
    from optuna import Study, Trial

FIRST = 10
"""What an optimiser tries by chance, at once, before it learns from anything."""


MOST_STEPS = 100
"""Of a range in a grid."""


class Sampler(Protocol):
    """Where the next settings come from."""

    def ask(self, number: int) -> Sequence[Values]:
        """At most so many that may be tried side by side; none: there are no more."""

    def tell(self, values: Values, badness: float | None) -> None:
        """What came of settings that were asked for, less being better; None: there are no such settings."""


class GridSampler:
    """Every combination of evenly spaced values, with as many values of each range as the trials allow."""

    def __init__(self, settings: Sequence[SearchedSetting], most: int) -> None:
        fitting = takewhile(lambda steps: _count(settings, steps) <= most, range(2, MOST_STEPS + 1))
        steps = max(fitting, default=2)
        if (number := _count(settings, steps)) > most:
            raise BadInput(
                f"search: the smallest grid has {number:,} points beside the plan's own settings, and {most} may be "
                f"tried; write `trials: {number + 1}`, or `by: random`"
            )
        self._waiting = iter(_combine(settings, steps))

    def ask(self, number: int) -> Sequence[Values]:
        """Implements Sampler."""
        return list(islice(self._waiting, number))

    def tell(self, values: Values, badness: float | None) -> None:
        """A grid is what it is."""


class RandomSampler:
    """By chance. More of them leave those before as they were."""

    def __init__(self, settings: Sequence[SearchedSetting], seed: int) -> None:
        self._settings, self._random = settings, np.random.default_rng(seed)

    def ask(self, number: int) -> Sequence[Values]:
        """Implements Sampler."""
        return [{one.name: one.pick(float(self._random.random())) for one in self._settings} for _ in range(number)]

    def tell(self, values: Values, badness: float | None) -> None:
        """Chance learns nothing."""


class OptunaSampler:
    """Where a tree-structured Parzen estimator expects the best; the first ones by chance."""

    def __init__(self, settings: Sequence[SearchedSetting], seed: int) -> None:
        try:
            import optuna
        except ModuleNotFoundError:
            raise MissingExtra("search by optuna", "optuna") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._settings = settings
        self._study: Study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=FIRST))
        self._open: list[tuple[Values, Trial]] = []
        self._told = 0

    def ask(self, number: int) -> Sequence[Values]:
        """Implements Sampler."""
        trials = [self._study.ask() for _ in range(1 if self._told else min(number, FIRST))]
        asked = [({one.name: self._pick(one, trial) for one in self._settings}, trial) for trial in trials]
        self._open += asked
        return [values for values, _ in asked]

    def tell(self, values: Values, badness: float | None) -> None:
        """Implements Sampler."""
        from optuna.trial import TrialState

        place = next(number for number, (asked, _) in enumerate(self._open) if asked == values)
        _, trial = self._open.pop(place)
        self._told += 1
        if badness is None:
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, badness)

    def _pick(self, one: SearchedSetting, trial: Trial) -> str:
        if one.space.ends is None:
            return one.list_values(0)[int(trial.suggest_categorical(one.name, range(len(one.space.choices))))]
        return one.pick(trial.suggest_float(one.name, 0.0, 1.0))


def make_sampler(by: str, settings: Sequence[SearchedSetting], *, most: int, seed: int) -> Sampler:
    """What a plan asks for; `most` is how many settings may be tried beside the plan's own."""
    if by == "grid":
        return GridSampler(settings, most)
    return RandomSampler(settings, seed) if by == "random" else OptunaSampler(settings, seed)


def _combine(settings: Sequence[SearchedSetting], steps: int) -> Iterator[Values]:
    names = [one.name for one in settings]
    for values in product(*(one.list_values(steps) for one in settings)):
        yield dict(zip(names, values, strict=True))


def _count(settings: Sequence[SearchedSetting], steps: int) -> int:
    number = 1
    for one in settings:
        number *= len(one.list_values(steps))
    return number
