"""The evaluation of J. B. Kanis' thesis (TU Delft 2023, chapter 7), run again: `python -m experiments.kanis`."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore
from experiments.kanis.rest import score_convergence
from experiments.kanis.tables import score_optimisation, score_queries, score_workloads
from experiments.replication import Evaluation, evaluate

FOLDER = Path(__file__).parent
SCORED: Mapping[str, tuple[str, str, Callable[[PlanResults], list[TableScore]]]] = {
    "parameter-optimisation": (
        "Parameter optimisation (tables 7.1 to 7.8)",
        "The constants of the models were derived from these tables and the text: agreement says that they were "
        "derived well, and nothing more.",
        score_optimisation,
    ),
    "workloads": (
        "Workloads on Q1 and Q11 (tables 7.9 to 7.16)",
        "The rows under the cosine are among those that the constants come from; the others were opened when the "
        "constants had been fixed, and changed nothing.",
        score_workloads,
    ),
    "queries": (
        "Queries under the cosine (table 7.18)",
        "Q1 and Q11 are among those that the constants come from, Q2, Q3 and Q5 are not.",
        score_queries,
    ),
    "convergence": (
        "Convergence (table 7.19)",
        "Nothing of it was used for the constants. The thesis gives no rule for when a size has come to rest: here, "
        "when nothing changes for the last 630 s of a stage, the time of two cool-downs and iterations.",
        score_convergence,
    ),
}


def tell(results: Mapping[str, PlanResults]) -> Account:
    """What is there, chapter by chapter."""
    chapters = [
        Chapter(title=title, told=[told], results=[results[plan]], scores=score(results[plan]))
        for plan, (title, told, score) in SCORED.items()
        if plan in results
    ]
    return Account(
        document="Kanis 2023: four autoscalers on Flink, run again in the simulator",
        about="The thesis has one run for each cell, of 140 minutes on a cluster; here are five of each, with their "
        "intervals. Latency is the age of the oldest record in the log, over looks and not over records, as there.",
        command="python -m experiments.kanis",
        chapters=chapters,
    )


EVALUATION = Evaluation(folder=FOLDER, plans=tuple(SCORED), tell=tell)

if __name__ == "__main__":
    sys.exit(evaluate(EVALUATION))
