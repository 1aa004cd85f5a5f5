"""Sections 4.5 to 4.7: workers and latency of each approach, and how much Daedalus saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean

from elastream.experiments.replication.published import PublishedNumber, read_published, read_value
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.replication.unscored import tabulate
from elastream.experiments.statistics import Estimate, estimate
from elastream.experiments.store.folder import StoredRun
from experiments.daedalus.numbers import LATENCY, LONGEST, SAVED, TABLES, WORKERS, find_latency, read_decisions

JOBS = {
    ("flink", "wordcount"): ("Section 4.5.1, word count", "WordCount"),
    ("flink", "ysb"): ("Section 4.5.2, Yahoo", "Yahoo"),
    ("flink", "traffic"): ("Section 4.5.3, traffic", "Traffic"),
    ("kafka_streams", "wordcount"): ("Section 4.6, Kafka Streams", "Kafka Streams"),
    ("flink", "ysb_sine"): ("Section 4.7, Phoebe", "Yahoo"),
}
NAMES = {
    "daedalus": "Daedalus", "hpa_60": "HPA-60", "hpa_80": "HPA-80", "hpa_85": "HPA-85", "static_12": "static 12",
    "phoebe": "Phoebe",
}  # fmt: skip
COLUMNS: Mapping[str, tuple[float, PublishedNumber, str | Measure]] = {
    "avg_workers": (1.0, WORKERS, "mean_wanted"),
    "avg_latency_ms": (0.001, LATENCY, find_latency),
    "max_latency_s": (1.0, LONGEST, "max_delay_p95_s"),
}
WITH_PROFILING = "phoebe with its profiling"

SET = "it is the size that was set"
PUT_IN = "the latency of the static deployment was put into the model"
FULL_BEFORE = (
    "here the worker with the most frequent key is full while the mean of all is still below what HPA acts on, so that "
    "it grows late or not at all (below: why HPA lags)"
)
SEEN_FULL = (
    "here no key is frequent, so that the mean shows when the job is full, and HPA asks for more after every change, "
    "while it is caught up with (below: what a frequent key does)"
)
STOPPED = "here a change stops the job for as long as Daedalus expects at first; shorter stops make it less (below)"


def score_averages(results: PlanResults) -> list[TableScore]:
    """The three jobs on Flink."""
    jobs = [("flink", job) for job in ("wordcount", "ysb", "traffic")]
    return [score for job in jobs if results.find(model=JOBS[job][1]) for score in _score(*job, results)]


def score_kafka_streams(results: PlanResults) -> list[TableScore]:
    """Word count on Kafka Streams."""
    return list(_score("kafka_streams", "wordcount", results))


def score_phoebe(results: PlanResults) -> list[TableScore]:
    """Against Phoebe, with and without what its profile costs."""
    return list(_score("flink", "ysb_sine", results))


def score_phoebe_drawn(results: PlanResults) -> list[TableScore]:
    """The same under other sines: what is saved, in the mean of all draws."""
    return [_score_savings("Section 4.7, whatever the sine", "ysb_sine", "Yahoo", results)]


def score_skew(results: PlanResults) -> list[TableScore]:
    """What another share of the most frequent key does to HPA: a table for each policy."""
    return tabulate(results, {WORKERS: "mean_wanted", LATENCY: find_latency}, rows=("model",))


def _score(engine: str, job: str, results: PlanResults) -> Iterator[TableScore]:
    table, model = JOBS[engine, job]
    rows = [row for row in read_published(TABLES / "evaluation.csv") if (row["engine"], row["job"]) == (engine, job)]
    for column, (factor, quantity, number) in COLUMNS.items():
        claims = []
        for row in rows:
            told = read_value(row, column)
            name = NAMES[row["approach"]]
            if told is not None:
                found = results.estimate(number, model=model, policy=name)
                doubt, reason = _find_doubt(name, quantity), _find_reason(engine, name, quantity)
                claims.append(Claim(row=name, told=told * factor, found=found, doubt=doubt, reason=reason))
        if claims:
            yield TableScore(table=table, quantity=quantity, claims=tuple(claims))
    yield _score_savings(table, job if engine == "flink" else engine, model, results)


def _find_doubt(policy: str, quantity: PublishedNumber) -> str:
    if policy != "static 12":
        return ""
    return SET if quantity is WORKERS else PUT_IN


def _find_reason(engine: str, policy: str, quantity: PublishedNumber) -> str:
    """What was isolated by a plan of its own."""
    if policy.startswith("HPA"):
        return FULL_BEFORE if engine == "flink" else SEEN_FULL
    return STOPPED if quantity is LATENCY else ""


def _score_savings(table: str, job: str, model: str, results: PlanResults) -> TableScore:
    rows = [row for row in read_published(TABLES / "savings.csv") if row["job"] == job]
    claims = []
    for row in rows:
        told = (read_value(row, "percent") or 0.0) / 100
        against = row["against"]
        saving = _save_with_profiling if against == WITH_PROFILING else _save_after_profiling
        if "phoebe" not in against:
            saving = _save
        found = find_saving(results, model, NAMES.get(against, "Phoebe"), saving)
        reason = _find_reason("flink" if job != "kafka_streams" else job, NAMES.get(against, ""), SAVED)
        if against == WITH_PROFILING:
            reason = _tell_profiling(results, told)
        claims.append(Claim(row=f"against {NAMES.get(against, against)}", told=told, found=found, reason=reason))
    return TableScore(table=table, quantity=SAVED, claims=tuple(claims))


Saving = Callable[[StoredRun, StoredRun], float | None]
"""Of two runs under the same load, the first one being Daedalus'."""


def find_saving(results: PlanResults, model: str, against: str, saving: Saving) -> Estimate | None:
    """What Daedalus saves, situation by situation."""
    theirs = {_find_situation(run): run for run in results.find(model=model, policy=against)}
    ours = results.find(model=model, policy="Daedalus")
    found = [saving(run, theirs[_find_situation(run)]) for run in ours if _find_situation(run) in theirs]
    known = [one for one in found if one is not None]
    return estimate(known) if known else None


def _find_situation(run: StoredRun) -> tuple[object, object]:
    return run.document["labels"].get("draw"), run.numbers["seed"]


def _save(ours: StoredRun, theirs: StoredRun) -> float | None:
    return 1 - float(ours.numbers["mean_wanted"]) / float(theirs.numbers["mean_wanted"])


def _save_after_profiling(ours: StoredRun, theirs: StoredRun) -> float | None:
    """As there: over the time in which sizes were chosen."""
    since_s = find_profiling(theirs)[0]
    return 1 - _mean_since(ours, since_s) / _mean_since(theirs, since_s)


def _save_with_profiling(ours: StoredRun, theirs: StoredRun) -> float | None:
    """As there: as if the profile had been made before the run."""
    since_s, worker_h = find_profiling(theirs)
    hours: float = theirs.document["what"]["duration_s"] / 3600
    return 1 - _mean_since(ours, since_s) / (_mean_since(theirs, since_s) + worker_h / hours)


def find_profiling(run: StoredRun) -> tuple[float, float]:
    """When Phoebe's first size was chosen by a profile, and the worker-hours that it had taken by then."""
    rows = read_decisions(run)
    over_s = next((row["t_s"] for row in rows if "by_recovery" in row["evidence"]), 0.0)
    return float(over_s), max((row["evidence"].get("profiling_worker_h") or 0.0 for row in rows), default=0.0)


def _mean_since(run: StoredRun, since_s: float) -> float:
    """Workers that were decided on, from a moment on; decisions hold until the next one."""
    rows = read_decisions(run)
    ends = [*(row["t_s"] for row in rows[1:]), run.document["what"]["duration_s"]]
    parts = [
        (max(0.0, end_s - max(row["t_s"], since_s)), row["workers_after"])
        for row, end_s in zip(rows, ends, strict=True)
    ]
    return float(sum(lasted_s * workers for lasted_s, workers in parts) / sum(lasted_s for lasted_s, _ in parts))


def _tell_profiling(results: PlanResults, told: float) -> str:
    """What the published share says of the cost of a profile there, and what it is here."""
    rows = {row["approach"]: row for row in read_published(TABLES / "evaluation.csv") if row["job"] == "ysb_sine"}
    ours, theirs = (read_value(rows[name], "avg_workers") or 0.0 for name in ("daedalus", "phoebe"))
    costs = [find_profiling(run)[1] for run in results.find(policy="Phoebe")]
    if not costs:
        return ""
    there_h = 6 * (ours / (1 - told) - theirs)
    return f"{told:.0%} there means {there_h:.0f} worker-hours of profiling; made in place it takes {fmean(costs):.1f}"
