"""A search as one HTML file, in the form of the laboratory's reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elastream.core.sanitizer import sanitizer
from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.report.checklist import draw_checklist
from elastream.experiments.report.document import make_report_document
from elastream.experiments.report.front import NINES, place_share
from elastream.experiments.report.tables import (
    Cell,
    ReportTable,
    draw_table,
    estimate_cell,
    number_cell,
    text_cell,
)
from elastream.experiments.tuning.result import TunedPolicy, Tuning, TuningTrial
from elastream.experiments.tuning.score import Score
from elastream.experiments.tuning.search import require_search
from elastream.experiments.tuning.words import answer, paste
from elastream.render import marks
from elastream.render.html import Html, element
from elastream.render.marks import AxisMark
from elastream.render.scatter import Dot, Scatter, draw_scatter

SCORED = ("hours paid", "records in SLO", "runs in SLO")


def make_tuning_page(tuning: Tuning, folder: Path) -> str:
    """The file's text."""
    title = sanitizer().line(f"{tuning.plan.name}: settings")
    searched = [one for one in tuning.policies if one.is_searched]
    return make_report_document(title, [
        element(
            "header",
            element("h1", title),
            element("p", sanitizer().line(tuning.plan.document.about), class_="about"),
            *(part for one in searched for part in _draw_answer(tuning, one)),
        ),
        _section("On loads that were tuned on, and on others", _explain(tuning), draw_table(_fold_table(tuning))),
        *(_draw_policy(number, one) for number, one in enumerate(searched)),
        _section("Can this be repeated?", draw_checklist(_check_items(tuning, folder))),
    ])  # fmt: skip


def _draw_answer(tuning: Tuning, one: TunedPolicy) -> list[Html]:
    first, *rest = answer(tuning, one)
    return [element("p", first, class_="answer"), element("p", " ".join(rest)), element("pre", paste(one))]


def _explain(tuning: Tuning) -> Html:
    if len(tuning.folds) == 1:
        told = "Settings were chosen on the loads that were tuned on; on others they were only scored."
    else:
        told = "Each part of the loads was scored by what was chosen on all others."
    return element("p", f"{told} The plan's own settings stand beside them.", class_="hint")


def _fold_table(tuning: Tuning) -> ReportTable:
    rows = [
        [text_cell(one.label), number_cell(float(number), "{:.0f}"), text_cell(choice.chosen.text),
         *_score_cells(choice.tuned), *_score_cells(choice.held_out), *_score_cells(choice.own_held_out)]
        for one in tuning.policies
        for number, choice in enumerate(one.choices, 1)
    ]  # fmt: skip
    told = [f"{where}: {what}" for where in ("tuned on", "not tuned on", "plan's own there") for what in SCORED]
    return ReportTable(name="parts", headings=["policy", "part", "chosen", *told], rows=rows)


def _draw_policy(number: int, one: TunedPolicy) -> Html:
    ids = [f"trial-{number}-{place}" for place in range(len(one.trials))]
    rows = [
        [number_cell(float(place), "{:.0f}"), text_cell(trial.text), text_cell(_tell_role(one, trial)),
         *_score_cells(trial.score(one.basis))]
        for place, trial in enumerate(one.trials)
    ]  # fmt: skip
    table = ReportTable(name=f"trials-{number}", headings=["", "settings", "role", *SCORED], rows=rows, ids=ids)
    told = (
        f"Every dot is a trial, over {len(one.basis)} loads. Up and to the left is better. The line is the front: "
        "nothing that was tried is both cheaper and better. The grey square has the plan's own settings."
    )
    return _section(
        one.label,
        element("p", told, class_="hint"),
        _draw_trials(one, ids),
        draw_table(table),
    )


def _draw_trials(one: TunedPolicy, ids: Sequence[str]) -> Html | None:
    placed = [
        (place, trial, found.cost.mean, found.share.mean)
        for place, trial in enumerate(one.trials)
        if (found := trial.score(one.basis)) is not None and found.cost is not None and found.share is not None
    ]
    if not placed:
        return None
    scale = marks.numbers(max(cost for _, _, cost, _ in placed))
    most = scale[-1].at
    at = {trial.text: (cost / most, place_share(share)) for _, trial, cost, share in placed}
    dots = [
        Dot(
            letter=str(place), at=at[trial.text], across=None, along=None, href=f"#{ids[place]}",
            title=f"{place}: {trial.text}{_told_role(one, trial)}: {cost:.3g} worker-hours, {share:.3%} in time",
            is_reference=trial.text == one.own.text,
        )
        for place, trial, cost, share in placed
    ]  # fmt: skip
    promises = {found.promised for found in one.own.outcomes.values()}
    promised = promises.pop() if len(promises) == 1 else None
    return draw_scatter(
        Scatter(
            title=f"{one.label}: cost against records in time",
            description=f"{len(dots)} trials; front, from cheap to good: {', '.join(t.text for t in one.front)}.",
            across="worker-hours paid, mean of a run",
            along="records within the SLO",
            columns=[AxisMark(at=mark.at / most, label=mark.label) for mark in scale],
            rows=[AxisMark(at=place_share(share), label=label) for share, label in NINES.items()],
            dots=dots,
            front=[at[trial.text] for trial in one.front],
            limit=None
            if promised is None
            else AxisMark(at=place_share(promised), label=f"promised {100 * promised:.4g}%"),
        )
    )


def _tell_role(one: TunedPolicy, trial: TuningTrial) -> str:
    roles = {"chosen": one.chosen, "the plan's own": one.own}
    told = [role for role, other in roles.items() if other.text == trial.text]
    return ", ".join(told + ["front"] * (trial.text in {other.text for other in one.front}))


def _told_role(one: TunedPolicy, trial: TuningTrial) -> str:
    role = _tell_role(one, trial)
    return f" ({role})" if role else ""


def _score_cells(found: Score | None) -> list[Cell]:
    if found is None:
        return [text_cell("")] * len(SCORED)
    kept = Cell(shown=f"{found.kept} of {found.runs}", raw=found.kept / found.runs)
    return [estimate_cell(found.cost, COST), estimate_cell(found.share, KEPT), kept]


def _check_items(tuning: Tuning, folder: Path) -> list[tuple[str, list[str]]]:
    search, how = require_search(tuning.plan), tuning.plan.document.how
    looked = [f"{policy}: {name} {_spell_space(space.ends, space.choices)}"
              for policy, settings in search.settings.items() for name, space in settings.items()]  # fmt: skip
    return [
        ("Looked for", looked),
        ("How", [f"{search.by}, at most {search.trials} trials of each policy, seed {search.seed}"]),
        ("Seeds of runs", [f"{', '.join(map(str, how.all_seeds))}; the same for all settings, so that they pair"]),
        ("Parts", [_tell_part(one.tuned, one.held_out) for one in tuning.folds]),
        ("Raw data", [f"{folder}/runs: each trial on each load, as Parquet; {folder}/tuning.json has the scores"]),
        ("Command", [f"elastream tune {folder / 'plan.yaml'} --out {folder}"]),
    ]


def _tell_part(tuned: Sequence[str], held_out: Sequence[str]) -> str:
    return f"tuned on {', '.join(tuned)}; scored on {', '.join(held_out) or 'the same'}"


def _spell_space(ends: tuple[object, object] | None, choices: Sequence[object]) -> str:
    return f"{ends[0]}..{ends[1]}" if ends is not None else f"one of {', '.join(map(str, choices))}"


def _section(heading: str, *children: Html | None) -> Html:
    return element("section", element("h2", heading), *children, aria_label=heading)
