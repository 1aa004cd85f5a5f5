"""A search in words: what was found, what it does on other loads, and what it is measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from elastream.experiments.plan.document import Search
from elastream.experiments.tuning.folds import Fold
from elastream.experiments.tuning.result import TunedPolicy, Tuning
from elastream.experiments.tuning.score import Score


def describe_search(search: Search, folds: Sequence[Fold]) -> list[str]:
    """What is looked for, and on which part of the loads."""
    lines = [f"search: at most {search.trials:,} settings each of {', '.join(search.settings)}, by {search.by}"]
    for number, fold in enumerate(folds, 1):
        part = f"part {number} of {len(folds)}" if len(folds) > 1 else "all"
        others = _count(fold.held_out) if fold.held_out else "no other"
        lines.append(f"search: {part}: tuned on {_count(fold.tuned)}, scored on {others}")
    return lines


def _count(loads: Sequence[str]) -> str:
    return "1 load" if len(loads) == 1 else f"{len(loads)} loads"


def answer(tuning: Tuning, one: TunedPolicy) -> list[str]:
    """Some sentences about a policy of which settings were looked for, the most important first."""
    return list(_tell(tuning, one))


def paste(one: TunedPolicy) -> str:
    """The chosen settings as an option of a command."""
    return f"--policy '{one.chosen.text}'"


def tell_scores(scores: Sequence[Score | None], form: str = "{} worker-hours a run, promise kept in {}") -> str:
    """What settings came to; the mean of several parts."""
    known = [one for one in scores if one is not None]
    costs = [one.cost.mean for one in known if one.cost is not None and not one.failed]
    if not known:
        return ""
    kept = f"{sum(one.kept for one in known)} of {sum(one.runs for one in known)}"
    return form.format(f"{fmean(costs):.3g}" if costs else "unknown", kept)


def _tell(tuning: Tuning, one: TunedPolicy) -> Iterator[str]:
    found = one.chosen.score(one.basis)
    where = "the loads that it was tuned on" if len(tuning.folds) == 1 else "all loads"
    if one.chosen.text == one.own.text:
        best = f"{one.label}: none of {len(one.trials):,} settings is better than the plan's own"
    else:
        best = f"{one.label}: the best of {len(one.trials):,} settings is {one.chosen.text}"
    yield f"{best}, over {where}: {tell_scores([found])}."
    if found is not None and found.kept < found.runs and not _is_kept_by_any(one):
        yield "No settings keep it in all runs."
    if not one.held_out:
        yield "Nothing was held out, so expect less elsewhere."
        return
    parts = (
        "" if len(one.choices) == 1 else f" (mean of {len(one.choices)} parts, each by what was chosen on the others)"
    )
    yield f"On loads that were not tuned on{parts}: {tell_scores(one.held_out)}."
    yield f"On those that were: {tell_scores([choice.tuned for choice in one.choices])}."
    own = tell_scores([choice.own_held_out for choice in one.choices])
    yield f"The plan's own settings where nothing was tuned: {own}."
    yield from _tell_doubt(one)


def _is_kept_by_any(one: TunedPolicy) -> bool:
    scores = [trial.score(one.basis) for trial in one.trials]
    return any(found is not None and found.kept == found.runs for found in scores)


def _tell_doubt(one: TunedPolicy) -> Iterator[str]:
    """Whether the difference in cost is beyond doubt."""
    found = one.dearer_by
    if found is None or all(choice.chosen.text == one.own.text for choice in one.choices):
        return
    if found.interval is None:
        yield "With one pair of runs the difference in cost has no interval."
        return
    low, high = found.interval.low, found.interval.high
    if not found.interval.excludes_zero:
        yield f"No difference in cost is shown: {found.mean:+.2g} [{low:+.2g}, {high:+.2g}] worker-hours a run."
    else:
        low, high = sorted((abs(low), abs(high)))
        more = "more" if found.mean > 0 else "less"
        yield f"Those cost {abs(found.mean):.2g} [{low:.2g}, {high:.2g}] worker-hours a run {more}."
