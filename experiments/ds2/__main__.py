"""The evaluation of DS2 (Kalavri et al., OSDI 2018), run again: `python -m experiments.ds2`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from elastream.experiments.replication.account import Account
from elastream.experiments.replication.results import PlanResults
from experiments.ds2.accuracy import score_accuracy, score_timely
from experiments.ds2.convergence import score_convergence, score_drawn
from experiments.ds2.live import score_live
from experiments.ds2.word_count import score_dhalion, score_dynamic, score_skew
from experiments.replication import Evaluation, Scored, evaluate, make_chapters

FOLDER = Path(__file__).parent
APART = "live"
SCORED: Scored = {
    "convergence": (
        "Convergence on Flink (table 4)",
        "The sizes in the end were put into the models and are not scored. How much instances do beside many others is "
        "not told: in the models each does as much whatever their number, so that from below one step is enough.",
        score_convergence,
    ),
    "convergence-drawn": (
        "Convergence, whatever nobody tells",
        "Table 4 fixes what a query needs to within one instance, and nothing tells what useful time misses at low "
        "load. Both are drawn over all they can be, and everything runs in each draw.",
        score_drawn,
    ),
    "accuracy": (
        "Accuracy on Flink (section 5.5)",
        "What a query needs was put into its model; what DS2 makes of it was not. It is asked from every size from 6 "
        "to 32, and each of these sizes runs by itself.",
        score_accuracy,
    ),
    "timely": (
        "Timely (section 5.5)",
        "That 4 workers are enough was put into the models; that DS2 finds them from every start was not.",
        score_timely,
    ),
    "dynamic-word-count": (
        "Dynamic word count on Flink (section 5.3)",
        "The sizes that each phase ends with were put into the models, and the times that redeployments take. Two laws "
        "lead through these sizes. That instances are slower by a constant once the job needs a second machine was "
        "chosen with the published path known, and its number of steps is not scored; the power law was not.",
        score_dynamic,
    ),
    "dhalion": (
        "Against Dhalion on Heron (section 5.2)",
        "All rates are told. What a record has in bytes, and hence what a queue holds, is ours. Dhalion's steps and "
        "sizes depend on when it looks; other times and smaller queues stand below.",
        score_dhalion,
    ),
    "skew": (
        "Skew (section 4.2.3)",
        "The document tells four findings, and neither rates nor sizes: both of its word counts run, with limited and "
        "with full rates, as DS2 ran in 5.3 and as it ran in 5.4.",
        score_skew,
    ),
    APART: (
        "Several starts, live on Spark",
        "Slots are limited to a rate by sleeping and share a few cores, and times are a third of the document's: how "
        "many executors are needed follows from that rate and says nothing of Spark's speed, starting one takes three "
        "times as long beside an interval, and a busy machine lengthens batches. Nothing of the document ran on Spark: "
        "what is scored is its claim that every start leads to one size in at most three steps.",
        score_live,
    ),
}


def tell(results: Mapping[str, PlanResults]) -> Account:
    """What is there, chapter by chapter."""
    return Account(
        document="DS2 (Kalavri et al., OSDI 2018), run again in the simulator",
        about="The document tells where DS2 ends and not how fast operators are, so that the models were derived from "
        "these ends: the sizes of table 4, of both phases of word count and of Timely were put into them, and are "
        "shown and not scored. Evidence is how DS2 gets there: in how many steps, over which sizes, from which starts, "
        "and whether it stays. Nothing in these models is drawn but where a plan says so: a cell is one run.",
        command="python -m experiments.ds2",
        chapters=make_chapters(SCORED, results),
    )


EVALUATION = Evaluation(folder=FOLDER, plans=tuple(plan for plan in SCORED if plan != APART), tell=tell, apart=(APART,))

if __name__ == "__main__":
    sys.exit(evaluate(EVALUATION))
