"""The evaluation of Daedalus (Pfister et al., ICPE 2024), run again: `python -m experiments.daedalus`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.results import PlanResults
from experiments.daedalus.averages import (
    score_averages,
    score_kafka_streams,
    score_phoebe,
    score_phoebe_drawn,
    score_skew,
)
from experiments.daedalus.capacity import score_capacity
from experiments.daedalus.recoveries import score_failures, score_recoveries, score_targets
from experiments.replication import Evaluation, Scored, evaluate, make_chapters

FOLDER = Path(__file__).parent
SATURATED, MEASURED = "saturated", ("averages", "kafka-streams")
SCORED: Scored = {
    "averages": (
        "Three jobs on Flink (section 4.5)",
        "No rates are told: peaks are ours, and 12 workers are just enough for them. Latencies of the static "
        "deployment were put into the models.",
        score_averages,
    ),
    "hpa-and-skew": (
        "Why HPA lags here",
        "The document says in words that keys are skewed. With a most frequent key that has a share h of all records, "
        "the mean use of n workers when the job can do no more is 1 / (1 + h(n - 1)). HPA grows only where the mean "
        "is beyond its target and a tenth of it more: above 88 % and 93.5 %.",
        score_skew,
    ),
    "kafka-streams": (
        "Kafka Streams (section 4.6)",
        "18 partitions are dealt out to workers, so that some have one more than others.",
        score_kafka_streams,
    ),
    "kafka-streams-skew": (
        "What a frequent key does on Kafka Streams",
        "The document says that this job is susceptible to skew, and not by how much. Without a frequent key it is "
        "only partitions that cannot be dealt out evenly.",
        score_skew,
    ),
    "phoebe": (
        "Against Phoebe (section 4.7)",
        "The document tells neither range nor period of the sine. Savings are over the time in which Phoebe chooses "
        "sizes, and then with what its profile takes, as if that had been made before the run.",
        score_phoebe,
    ),
    "phoebe-drawn": (
        "Against Phoebe, whatever the sine",
        "The low end is drawn from 0 to 40,000 records/s of 52,000, the period from one hour to six.",
        score_phoebe_drawn,
    ),
    "recovery-target": (
        "Other recovery targets (left open in section 4.8)",
        "The document says in words that lower targets take more workers and that high ones change little.",
        score_targets,
    ),
    "failures": (
        "Failures (left open in section 4.8)",
        "A worker fails every hour. The job is back after 30 s, as after growing, or after 90 s, because a failure "
        "has to be noticed first; Daedalus is not told.",
        score_failures,
    ),
}


def tell(results: Mapping[str, PlanResults]) -> Account:
    """What is there, chapter by chapter."""
    chapters = make_chapters(SCORED, results)
    measured = [results[plan] for plan in MEASURED if plan in results]
    if measured:
        told = "Measured twice: by anomalies of the throughput, as there, and until nothing waits, which is later."
        chapters.append(
            Chapter(title="Predicted and measured recovery times (section 4.8)", told=[told], results=measured,
                    scores=score_recoveries(measured))
        )  # fmt: skip
    if measured and SATURATED in results:
        saturated = results[SATURATED]
        told = "What Daedalus estimated when it changed the size, beside what that size does when it is flooded."
        chapters.append(
            Chapter(title="Accuracy of capacities (section 4.8)", told=[told], results=[*measured, saturated],
                    scores=score_capacity(saturated, measured))
        )  # fmt: skip
    return Account(
        document="Daedalus (Pfister et al., ICPE 2024), run again in the simulator",
        about="Six hours of each job, five times as there, on models that know the text of the document and the "
        "latency of its static deployment, and no other result. Daedalus forecasts with the package's own "
        "hedge instead of ARIMA.",
        command="python -m experiments.daedalus",
        chapters=chapters,
    )


EVALUATION = Evaluation(folder=FOLDER, plans=(*SCORED, SATURATED), tell=tell)

if __name__ == "__main__":
    sys.exit(evaluate(EVALUATION))
