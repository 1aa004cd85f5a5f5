"""The report as text for other tools: Markdown for documents, CSV for tables."""

from __future__ import annotations

import csv
import io

from elastream.core.sanitizer import sanitizer
from elastream.experiments.plan.document import AXES
from elastream.experiments.report.checklist import check_items
from elastream.experiments.report.contents import Contents
from elastream.experiments.report.standing import answer, stand
from elastream.experiments.report.tables import ReportTable, policy_table, situation_table
from elastream.experiments.store.tables import NUMBERS


def make_markdown(contents: Contents) -> str:
    """The answer, the tables and the checklist."""
    overview = stand(contents.comparison.contests)
    parts = [f"# {_line(contents.name)}", _line(str(contents.plan.get("about") or "")), _line(answer(overview))]
    if overview.standings:
        parts += ["## What it costs, and what it keeps", _spell_table(policy_table(overview))]
    parts += ["## Policies in each situation", _spell_table(situation_table(contents)), "## Can this be repeated?"]
    items = check_items(contents, overview)
    parts.append("\n".join(f"- {what}: {'; '.join(map(_line, lines))}" for what, lines in items))
    return "\n\n".join(filter(None, parts)) + "\n"


def make_csv(contents: Contents) -> str:
    """A row for each policy in each situation: every number with its interval. What is unknown is empty."""
    contests = contents.comparison.contests
    axes = [axis for axis in AXES if axis != "policy" and any(axis in dict(one.situation) for one in contests)]
    contenders = [(dict(contest.situation), one) for contest in contests for one in contest.contenders]
    known = [name for name in NUMBERS if any(one.values(name) for _, one in contenders)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*axes, "policy", "runs", *(f"{name}{end}" for name in known for end in ("", "_low", "_high"))])
    for situation, one in contenders:
        row: list[object] = [*(situation.get(axis, "") for axis in axes), one.policy, len(one.by_seed)]
        for name in known:
            found = one.estimate(name)
            interval = found.interval if found is not None else None
            row.append("" if found is None else found.mean)
            row += ["", ""] if interval is None else [interval.low, interval.high]
        writer.writerow(row)
    return written.getvalue()


def _spell_table(table: ReportTable) -> str:
    lines = [table.headings, ["---"] * len(table.headings), *([cell.shown for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(_line(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)


def _line(text: str) -> str:
    """One line without secrets, that no reader takes for markup of its own."""
    return sanitizer().line(text).replace("<", "&lt;")
