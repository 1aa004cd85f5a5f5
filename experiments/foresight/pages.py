"""The verdict as text: tables in Markdown, so that they can be read as they are and put into a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from elastream.core.slo import Slo
from experiments.foresight.rows import Least, Row, Situation, of_half
from experiments.foresight.verdict import (
    GOAL,
    OURS,
    WORSE,
    Against,
    compare,
    equal_costs,
    find_better,
    find_cheaper,
    find_fixed,
    stand,
)

SHARE = Slo(delay_s=1.0).share
"""Of the records that is to be in time."""


def tell_core(
    rows: Sequence[Row], least: Mapping[Situation, Least], halves: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Who keeps the promise, for what; loads that leap apart; where somebody else is better."""
    rows = [*rows, *_least_rows(rows, least)]
    for half, left_out in halves.items():
        inside = of_half(rows, left_out)
        if not inside:
            continue
        yield from _tell_half(half, inside, least)
    yield from _tell_better(rows, least)


def tell_against(title: str, rows: Sequence[Row], base: str) -> Iterator[str]:
    """Each policy of a plan beside one of it, for each job and whatever else differs."""
    yield from _head(f"{title}, beside {base}")
    groups = dict.fromkeys((row.at.job, row.at.more) for row in rows)
    body = []
    for job, more in groups:
        inside = [row for row in rows if (row.at.job, row.at.more) == (job, more)]
        body += [(", ".join(filter(None, (job, more))), *_tell_one(one)) for one in compare(inside, base)]
    columns = ("job", "", "keeps", base, "worker-hours where both keep", "changes", f"more than {WORSE:.1%} worse on")
    yield from _table(columns, body)


def tell_equal(rows: Sequence[Row], least: Mapping[Situation, Least]) -> Iterator[str]:
    """What each policy costs at the same share of records in time."""
    yield from _head(f"Cost where exactly {SHARE:.0%} of the records are in time, each policy by its own knob")
    body = []
    for job in dict.fromkeys(row.at.job for row in rows):
        inside = [row for row in rows if row.at.job == job]
        body += [(job, one.policy, f"{one.reached} of {one.of}", _times(one.over))
                 for one in equal_costs(inside, least, SHARE)]  # fmt: skip
    yield from _table(("job", "", "reached", "over the plan that knew the load"), body)


def _tell_half(half: str, rows: Sequence[Row], least: Mapping[Situation, Least]) -> Iterator[str]:
    yield from _head(f"Loads of the {half} half")
    body = []
    for job in dict.fromkeys(row.at.job for row in rows):
        parts = {kind: [row for row in rows if row.at.job == job and row.leaps == kind] for kind in (False, True)}
        calm, leaping = ({one.policy: one for one in stand(part, least)} for part in parts.values())
        for policy in dict.fromkeys([*calm, *leaping]):
            told = [
                text
                for one in (calm.get(policy), leaping.get(policy))
                for text in (("", "") if one is None else (f"{one.kept} of {one.of}", _over(one.over, one.over_of)))
            ]
            some = [one for one in (calm.get(policy), leaping.get(policy)) if one is not None]
            changes = sum(one.changes * one.of for one in some) / sum(one.of for one in some)
            body.append((job, policy, *told, f"{changes:.0f}"))
    columns = ("job", "", "keeps", "paid over the plan", "leaps: keeps", "paid over the plan", "changes")
    yield from _table(columns, body)
    ours = next((one for one in stand(rows, least) if one.policy == OURS), None)
    if ours is not None and ours.over is not None:
        reached = "reached" if ours.over <= GOAL else "missed"
        yield (
            f"{OURS} keeps {ours.kept} of {ours.of}, and pays {ours.over:.2f} times what the plan that knew the load "
            f"does, in the geometric mean of the {ours.over_of} that both keep (goal {GOAL:.2f}: {reached})."
        )
        yield ""
    missed = [row for row in rows if row.policy == OURS and not row.kept]
    if missed:
        yield f"It does not keep: {_list(f'{_spell(row.at)} ({row.share:.2%})' for row in missed)}."
        yield ""


def _tell_better(rows: Sequence[Row], least: Mapping[Situation, Least]) -> Iterator[str]:
    yield from _head("Where a published policy is better")
    better, cheaper = find_better(rows), find_cheaper(rows)
    yield f"With more of the records in time for less: {_list(_pair(*one) for one in better) or 'nowhere'}."
    yield ""
    yield f"Keeping the promise for less: {_list(_pair(*one) for one in cheaper) or 'nowhere'}."
    yield ""
    fixed = (
        f"{_spell(row.at)} ({hours:.1f} h; {OURS} {row.share:.2%} for {row.hours:.1f} h)"
        for row, hours in find_fixed(rows, least)
    )
    yield f"A fixed size that is chosen afterwards keeps it for less on: {_list(fixed) or 'no load'}."
    yield ""


def _least_rows(rows: Sequence[Row], least: Mapping[Situation, Least]) -> Iterator[Row]:
    """The smallest fixed size that keeps the promise, as if it were a policy; where there is none, the largest."""
    for row in rows:
        if row.policy.startswith("fixed"):
            found = least[row.at].fixed if row.at in least else None
            if found is not None:
                yield row._replace(
                    policy="fixed (the least that keeps)", hours=found, kept=True, share=SHARE, changes=0
                )


def _tell_one(one: Against) -> tuple[str, ...]:
    worse = ", ".join(_spell(at) for at in one.worse)
    kept = f"{one.kept} of {one.of}", f"{one.base_kept}"
    return one.policy, *kept, _over(one.cost, one.both), _times(one.changes), worse


def _pair(our: Row, row: Row) -> str:
    return (
        f"{row.policy} on {_spell(row.at)} ({row.share:.2%} for {row.hours:.1f} h; {OURS} {our.share:.2%} for "
        f"{our.hours:.1f} h)"
    )


def _spell(at: Situation) -> str:
    return ", ".join(filter(None, (at.job, at.load, at.more, f"seed {at.seed}")))


def _over(ratio: float | None, of: int) -> str:
    return "" if ratio is None else f"{ratio:.2f} ({of})"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _list(texts: Iterable[str]) -> str:
    return "; ".join(texts)


def _head(text: str) -> Iterator[str]:
    yield f"## {text}"
    yield ""


def _table(columns: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(row)} |" for row in body)
    yield ""
