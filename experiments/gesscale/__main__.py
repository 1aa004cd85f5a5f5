"""Gesscale's table III (Arkian et al., ICCCN 2021) as a sensitivity study: `python -m experiments.gesscale`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from elastream.experiments.replication.account import Account
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore
from experiments.gesscale.orders import score_downtimes, score_orders, score_values
from experiments.replication import Evaluation, Scored, evaluate, make_chapters

FOLDER = Path(__file__).parent
LIKE_THERE = "taxis, Wed and Thu"


def score_table(results: PlanResults) -> list[TableScore]:
    """Orders under every load, and what the numbers are under the one that is most like that of the document."""
    return [*score_orders("table3", results), *score_values(results, LIKE_THERE)]


def score_pace(results: PlanResults) -> list[TableScore]:
    """Orders with the pace of the public code."""
    return score_orders("table3-code", results)


SCORED: Scored = {
    "table3": (
        "The orders of table III, whatever is not told",
        "Each draw is a world in which the four run once, as there. An order agrees if it is so in nine of ten worlds; "
        "what it hangs on stands beside it.",
        score_table,
    ),
    "table3-code": (
        "With the pace of the public code",
        "The document does not say how long its autoscalers wait after a change, nor what its thresholds read.",
        score_pace,
    ),
    "downtime": (
        "Changes that stop the job for less (left open in section II-C)",
        "From the 120 s of the document to none.",
        score_downtimes,
    ),
}


def tell(results: Mapping[str, PlanResults]) -> Account:
    """What is there, chapter by chapter."""
    return Account(
        document="Gesscale (Arkian et al., ICCCN 2021), its table III as a sensitivity study",
        about="The table cannot be run again from its document: one run of each autoscaler, boards at random, and no "
        "values for the model's alpha, beta and gamma, for the threshold, the bounds or the delays. So nothing is "
        "fitted to it. All that it leaves open is drawn over a range, and what is told is in which share of it each "
        "order holds.",
        command="python -m experiments.gesscale",
        chapters=make_chapters(SCORED, results),
    )


EVALUATION = Evaluation(folder=FOLDER, plans=tuple(SCORED), tell=tell)

if __name__ == "__main__":
    sys.exit(evaluate(EVALUATION))
