"""The report on a folder of runs, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping

from elastream.core.sanitizer import sanitizer
from elastream.experiments.report.checklist import check_items, draw_checklist, spell_count
from elastream.experiments.report.choice import choose_runs
from elastream.experiments.report.contents import Contents
from elastream.experiments.report.delays import draw_delays
from elastream.experiments.report.document import make_report_document
from elastream.experiments.report.drawn_run import draw_multiple, draw_strips, read_drawn
from elastream.experiments.report.front import draw_front
from elastream.experiments.report.heat import draw_heat
from elastream.experiments.report.sensitivity import MOST, draw_sensitivity, find_sensitivities
from elastream.experiments.report.standing import Overview, answer, stand
from elastream.experiments.report.tables import (
    draw_table,
    made_by,
    policy_table,
    query_means,
    query_moments,
    query_situations,
    situation_table,
)
from elastream.render.html import Html, element, joined


def make_report(contents: Contents, *, run: str | None = None) -> str:
    """The report as text; `run` names one that is to be drawn."""
    overview = stand(contents.comparison.contests)
    title = sanitizer().line(contents.name)
    return make_report_document(title, [
        _head(contents, overview, title),
        _front(contents, overview),
        _situations(contents, overview),
        _runs(contents, overview, run),
        _delays(contents, overview),
        _sensitivities(contents, overview),
        _section("Can this be repeated?", draw_checklist(check_items(contents, overview))),
    ])  # fmt: skip


def _head(contents: Contents, overview: Overview, title: str) -> Html:
    about = str(contents.plan.get("about") or "")
    policies = len({one.policy for contest in contents.comparison.contests for one in contest.contenders})
    situations = len(contents.comparison.contests)
    counted = ", ".join(map(spell_count, (len(contents.runs), policies, situations), ("run", "policy", "situation")))
    return element(
        "header",
        element("h1", title),
        element("p", sanitizer().line(about), class_="about") if about else None,
        element("p", answer(overview), class_="answer"),
        element("p", counted, class_="hint"),
    )


def _front(contents: Contents, overview: Overview) -> Html:
    if not overview.standings:
        return joined(())
    picture = draw_front(overview, contents.promised)
    told = (
        "Up and to the left is better. The line is the front: nothing that was run is both cheaper and better. Grey "
        "squares are fixed sizes. Bars are intervals over repetitions, where there are any."
    )
    ranks = contents.comparison.ranks
    return _section(
        "What it costs, and what it keeps",
        element("p", told if picture else "Shares of records in time are not known: nothing was promised.",
                class_="hint"),
        picture,
        draw_table(policy_table(overview)),
        None if ranks is None else element("p", _tell_ranks(ranks.ranks, ranks.critical_difference), class_="hint"),
        made_by(contents, query_means(contents, overview), "the table above, a row for each dot"),
    )  # fmt: skip


def _situations(contents: Contents, overview: Overview) -> Html:
    return _section(
        "Policies in each situation",
        element("ul", *(element("li", line) for line in _verdicts(contents)), class_="verdicts"),
        draw_heat(contents.comparison.contests, _letters(overview)),
        element("details", element("summary", "The same as a table"), draw_table(situation_table(contents))),
        made_by(contents, query_situations(contents), "the same as a table, above"),
    )


def _runs(contents: Contents, overview: Overview, name: str | None) -> Html:
    letters = _letters(overview)
    runs = [read_drawn(number, letters.get(run.document["labels"]["policy"], ""), run)
            for number, run in enumerate(choose_runs(contents, name))]  # fmt: skip
    labels = runs[0].run.document["labels"]
    what = ", ".join(label for axis, label in labels.items() if axis != "policy")
    chosen = "the load of the run that was named" if name else "the load that tells policies apart most"
    most = max(one.peak for one in runs)
    return _section(
        "One load through all policies",
        element("p", f"{what}, seed {runs[0].run.document['what']['seed']}: {chosen}. ", element("code", "--run RUN"),
                " draws another.", class_="hint"),
        element("div", *(draw_multiple(one, most) for one in runs), class_="multiples"),
        *(draw_strips(one, is_open=number == 0) for number, one in enumerate(runs)),
        made_by(contents, query_moments(contents, runs[0].run), "ticks.parquet and decisions.parquet of each run"),
    )  # fmt: skip


def _delays(contents: Contents, overview: Overview) -> Html | None:
    found = draw_delays(contents, overview)
    if found is None:
        return None
    picture, over, names = found
    told = f"Delays of {over}: the median as a ring, a thick line to p95, a thin one to p99, a dot for the longest."
    return _section(
        "How delays are distributed",
        element("p", f"{told} Each is the mean over runs; the scale is one of powers of ten.", class_="hint"),
        picture,
        made_by(contents, query_means(contents, overview, names), "columns of the table of policies"),
    )


def _sensitivities(contents: Contents, overview: Overview) -> Html | None:
    found = find_sensitivities(contents, overview)
    if not found:
        return None
    more = len(found) - MOST
    return _section(
        "What one setting does",
        element("p", "All else alike. The band is the interval over repetitions, where there are any.", class_="hint"),
        *(draw_sensitivity(one) for one in found[:MOST]),
        element("p", f"{more} more settings stand in the table of policies.", class_="hint") if more > 0 else None,
        made_by(contents, query_means(contents, overview), "rows of these policies in the table of policies"),
    )


def _letters(overview: Overview) -> dict[str, str]:
    return {one.policy: one.letter for one in overview.standings}


def _verdicts(contents: Contents) -> list[str]:
    """Who won where, counted: a line for each outcome."""
    outcomes: dict[str, int] = {}
    for contest in contents.comparison.contests:
        told = f"{contest.winner} did best" if contest.winner else contest.sentence.partition(" between ")[0]
        outcomes[told] = outcomes.get(told, 0) + 1
    total = len(contents.comparison.contests)
    return [f"{told}: {number:,} of {spell_count(total, 'situation')}" for told, number in sorted(outcomes.items())]


def _tell_ranks(ranks: Mapping[str, float], difference: float) -> str:
    told = ", ".join(f"{policy} {rank:.2f}" for policy, rank in sorted(ranks.items(), key=lambda pair: pair[1]))
    return f"Mean ranks over situations, 1 being best: {told}. Ranks closer than {difference:.2f} cannot be told apart."


def _section(heading: str, *children: Html | None) -> Html:
    return element("section", element("h2", heading), *children, aria_label=heading)
