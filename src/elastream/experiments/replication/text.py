"""An account as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.scoring import Claim, TableScore, TotalScore, add_up
from elastream.experiments.statistics import Estimate


def make_text(account: Account) -> str:
    """Everything, a line for each cell."""
    parts = [f"{account.document}: {account.about}", *("\n".join(_chapter(one)) for one in account.chapters)]
    return "\n\n".join(parts) + "\n"


def tell_totals(account: Account) -> Iterator[str]:
    """What it came to: a line for each chapter."""
    yield account.document
    for chapter in account.chapters:
        yield f"  {chapter.title}: {tell_chapter(chapter)}"


def tell_chapter(chapter: Chapter) -> str:
    """What a chapter came to in one line."""
    if any(score.is_told for score in chapter.scores):
        return tell_total(add_up(chapter.scores))
    return "the document tells nothing to compare with"


def tell_total(total: TotalScore) -> str:
    """One line for several tables."""
    same, apart = total.pairs
    parts = [f"{total.agreeing} of {total.cells} cells agree"]
    if apart:
        parts.append(f"{same} of {apart} pairs are in the published order")
    if total.spearman is not None:
        parts.append(f"mean rank correlation {total.spearman:+.2f}")
    if total.median_error is not None:
        parts.append(f"median relative error {total.median_error:.0%}")
    return ", ".join(parts)


def tell_score(score: TableScore) -> str:
    """The same of one column."""
    if not score.counted:
        return "no cell is scored"
    same, apart = score.pairs
    parts = [f"{score.agreeing} of {len(score.counted)} cells agree"]
    if apart:
        parts.append(f"{same} of {apart} pairs in order")
    for name, value in (("Spearman", score.spearman), ("Kendall", score.kendall)):
        if value is not None:
            parts.append(f"{name} {value:+.2f}")
    if score.median_error is not None:
        parts.append(f"median error {score.median_error:.0%}")
    return ", ".join(parts)


def tell_value(value: float | None) -> str:
    """Three digits; empty where there is none."""
    return "" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def tell_estimate(found: Estimate | None) -> str:
    """A mean, with its interval where there is one."""
    if found is None:
        return ""
    if found.interval is None:
        return tell_value(found.mean)
    return f"{tell_value(found.mean)} [{tell_value(found.interval.low)}, {tell_value(found.interval.high)}]"


def tell_verdict(score: TableScore, claim: Claim) -> str:
    """Whether a cell agrees, and why not."""
    if claim.told is None:
        return "not run by the document"
    if claim.found is None:
        return f"nothing to compare{f': {claim.reason}' if claim.reason else ''}"
    if claim.doubt:
        return f"not scored: {claim.doubt}"
    verdict = "agrees" if score.agrees(claim) else "differs"
    return f"{verdict}: {claim.reason}" if claim.reason and verdict == "differs" else verdict


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f"== {chapter.title}"
    yield from chapter.told
    for plan in chapter.results:
        missing = f", {plan.missing:,} are missing" if plan.missing else ""
        yield f"{plan.name}: {len(plan.runs):,} runs in {plan.folder}{missing}"
        yield from (f"  not run: {lack}" for lack in plan.lacks)
    if any(score.is_told for score in chapter.scores):
        yield f"in all: {tell_total(add_up(chapter.scores))}"
    for score in chapter.scores:
        yield f"\n{score.table}: {score.quantity.title}"
        if score.is_told:
            yield f"  {tell_score(score)}"
        width = max(len(claim.row) for claim in score.claims)
        for claim in score.claims:
            told = f"{tell_value(claim.told) or '-':>6}  " if score.is_told else ""
            verdict = tell_verdict(score, claim) if score.is_told else ""
            yield f"    {claim.row:{width}}  {told}{tell_estimate(claim.found) or '-':22}  {verdict}".rstrip()
