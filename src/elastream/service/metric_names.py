"""Every metric that is told: its name, its labels and what it says. What is a signal says what the glossary says."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from elastream.core.signals import GLOSSARY, Signal

Kind = Literal["gauge", "counter", "histogram", "info"]


class MetricName(NamedTuple):
    """One metric. Every series has the label `application` besides."""

    kind: Kind
    says: str
    labels: tuple[str, ...] = ()


def _of(signal: Signal) -> str:
    """A signal in the words of the glossary, as a sentence."""
    says = GLOSSARY[signal].says
    return f"{says[0].upper()}{says[1:]}."


_QUERY = ("query",)

METRICS: Mapping[str, MetricName] = {
    "elastream_executors_wanted": MetricName("gauge", "Executors decided on."),
    "elastream_executors_requested": MetricName("gauge", "Executors that the cluster was asked for."),
    "elastream_executors_ready": MetricName("gauge", _of(Signal.READY)),
    "elastream_executors_leaving": MetricName("gauge", "Executors on their way out, finishing what they run."),
    "elastream_executors_room": MetricName("gauge", "Executors that the cluster has room for, where that is known."),
    "elastream_busy_ratio": MetricName("gauge", "Share of the slots' time in which a task ran, over the last minute."),
    "elastream_backlog_records": MetricName("gauge", "Records that arrived and are in no committed batch.", _QUERY),
    "elastream_backlog_age_seconds": MetricName("gauge", _of(Signal.BACKLOG_AGE), _QUERY),
    "elastream_partition_backlog_ratio": MetricName("gauge", "Largest backlog of a partition over their mean.", _QUERY),
    "elastream_arrival_records_per_second": MetricName("gauge", "Records that arrive, over the last minute.", _QUERY),
    "elastream_committed_records_per_second": MetricName(
        "gauge", "Records that are committed, over the last minute.", _QUERY
    ),
    "elastream_capacity_records_per_second": MetricName(
        "gauge", "What the slots that are ready could take in, all of them together, by what batches cost.", _QUERY
    ),
    "elastream_forecast_records_per_second": MetricName(
        "gauge", "The rate that the policy prepares for, within so many seconds.", ("query", "horizon")
    ),
    "elastream_committed_records_total": MetricName("counter", _of(Signal.COMMITTED), _QUERY),
    "elastream_judged_records_total": MetricName(
        "counter", "Records that were committed or have waited for longer than the bound.", _QUERY
    ),
    "elastream_late_records_total": MetricName("counter", "Records that were judged, and not in time.", _QUERY),
    "elastream_delay_seconds": MetricName(
        "gauge", "Arrival to commit, over the records committed in the last minute.", ("query", "quantile")
    ),
    "elastream_slo_seconds": MetricName("gauge", "The bound on delay that is promised.", _QUERY),
    "elastream_slo_ratio": MetricName("gauge", "The share of records for which it is promised.", _QUERY),
    "elastream_slo_violation_seconds_total": MetricName(
        "counter", "Time in which the 95th percentile of the last minute's delays was beyond the bound."
    ),
    "elastream_limited": MetricName(
        "gauge", "1 while something holds the query back that executors cannot help.", ("query", "reason")
    ),
    "elastream_batch_duration_seconds": MetricName("histogram", "Trigger to commit of a batch.", _QUERY),
    "elastream_trigger_interval_seconds": MetricName("gauge", "Time between the starts of two batches.", _QUERY),
    "elastream_state_bytes": MetricName("gauge", _of(Signal.STATE_BYTES), _QUERY),
    "elastream_scaling_duration_seconds": MetricName(
        "histogram", "From a decision until all executors were there, or gone.", ("action",)
    ),
    "elastream_decisions_total": MetricName(
        "counter", "Ticks by what was decided: grow, shrink, keep, hold.", ("action",)
    ),
    "elastream_adjustments_total": MetricName("counter", "Decisions that a guard changed.", ("guard",)),
    "elastream_holds_total": MetricName(
        "counter", "Decisions to stay because of what is not known: look, lack, unknown, failure.", ("reason",)
    ),
    "elastream_errors_total": MetricName(
        "counter", "What failed and was survived: look, plan, apply, other.", ("stage",)
    ),
    "elastream_telemetry_gaps_total": MetricName("counter", "Looks at which events of Spark had been lost."),
    "elastream_executor_seconds_total": MetricName("counter", "Executor-seconds paid for, from request to end."),
    "elastream_paused": MetricName("gauge", "1 while nothing is changed on somebody's word."),
    "elastream_degraded": MetricName("gauge", "1 while something failed or nothing can be seen."),
    "elastream_ticks_total": MetricName("counter", "Turns of the loop."),
    "elastream_tick_duration_seconds": MetricName("histogram", "From the look to the end of the tick."),
    "elastream_build_info": MetricName("info", "What decides, and which versions run.", ("policy", "version", "spark")),
}
"""By name, in the order in which they are told."""
