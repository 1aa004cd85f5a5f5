"""What policies said would be, beside what was: forecasts of the load, and how long a change would take to recover."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elastream.core.decision import Decision, Json
from elastream.core.observation import Query
from elastream.core.tick import Tick
from elastream.evaluation.measures import Value

FORECAST, RECOVERY = "forecast_max_rps", "recovery_s"
"""As the evidence of decisions calls them; a pool's name may follow."""
OF_QUERY = "lasting_rps"
"""What is expected of one query, whose name stands before it."""
EXPECTED = ("expected_rps", "expected_low_rps", "expected_high_rps")
"""Of one query too: the middle of what may come in the time ahead, and between what it lies in most cases."""
HORIZONS = ("horizon_s", "ahead_s")
"""How far a policy looks, as their settings call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """None where a policy predicts nothing, or where what was is not known."""

    forecast_error: Value
    """Of the highest rate within the horizon: the sum of all errors over the sum of what came."""
    forecast_coverage: Value
    """Share of the forecasts that were not exceeded."""
    recovery_error: Value
    """Mean of the error of a predicted recovery, as a share of the real one."""


class PredictionLog:
    """Keeps what each decision predicts. Implements Journal."""

    def __init__(self) -> None:
        self.forecasts: list[tuple[float, float]] = []
        """When, and the highest rate that is expected."""
        self.recoveries: list[tuple[float, float]] = []
        """When the size was changed, and how long it is expected to take until it has caught up."""
        self._made_s: float | None = None
        self._began_s: float | None = None

    def write(self, tick: Tick) -> None:
        """Take in one tick; a decision that is stated again predicts nothing new."""
        # Seconds since the first moment, as series tell them.
        self._began_s = tick.at_s if self._began_s is None else self._began_s
        at_s = tick.at_s - self._began_s
        decision, now = tick.decision, tick.observation
        if decision is None or now is None or (decision.made_s is not None and decision.made_s == self._made_s):
            return
        self._made_s = decision.made_s
        if (forecast := _find(decision.evidence, FORECAST)) is not None:
            self.forecasts.append((at_s, forecast))
        recovery_s = _find(decision.evidence, RECOVERY)
        if recovery_s is not None and decision.changes(now):
            self.recoveries.append((at_s, recovery_s))

    def close(self) -> None:
        """Nothing to close."""


def find_forecasts(decision: Decision, queries: Sequence[Query]) -> dict[str, float]:
    """Query -> the rate that a decision prepares for, where it says so."""
    said = {query.id: decision.evidence.get(f"{query.name}/{OF_QUERY}") for query in queries}
    found = {
        query: float(value)
        for query, value in said.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    # What is said of the whole pool is said of a query that has it for itself.
    whole = _find(decision.evidence, FORECAST) if len(queries) == 1 else None
    return found if whole is None else {queries[0].id: whole, **found}


def find_expected(decision: Decision, queries: Sequence[Query]) -> tuple[Value, Value, Value]:
    """What is expected to arrive, over all queries, and between what it lies; unknown where a policy does not say.

    Of several queries the ends are added up: a load that is higher than expected is so for all of them at worst. Where
    only a most is expected, it is the upper end.
    """
    evidence = decision.evidence
    told = [[evidence.get(f"{query.name}/{name}") for query in queries] for name in EXPECTED]
    middle, low, high = (_add(values) for values in told)
    return middle, low, _find(evidence, FORECAST) if high is None else high


def _add(values: Sequence[Json]) -> Value:
    numbers = [float(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def find_horizon(settings: Mapping[str, Json]) -> float | None:
    """How far a policy with these settings looks, in seconds."""
    found = [settings[name] for name in HORIZONS if name in settings]
    return float(found[0]) if found and isinstance(found[0], int | float) and not isinstance(found[0], bool) else None


def judge_predictions(
    log: PredictionLog,
    at: Sequence[float],
    arrived_rps: Sequence[Value],
    backlog: Sequence[Value],
    horizon_s: float | None,
) -> Predictions:
    """What was predicted beside the run as it went; times count from its first moment."""
    pairs = [] if horizon_s is None else _pair_forecasts(log.forecasts, at, arrived_rps, horizon_s)
    real = sum(came for _, came in pairs)
    recoveries = [
        abs(said_s - took_s) / took_s
        for changed_s, said_s in log.recoveries
        if (took_s := find_recovery(at, backlog, changed_s))
    ]
    return Predictions(
        forecast_error=sum(abs(said - came) for said, came in pairs) / real if real else None,
        forecast_coverage=sum(came <= said for said, came in pairs) / len(pairs) if pairs else None,
        recovery_error=sum(recoveries) / len(recoveries) if recoveries else None,
    )


def find_recovery(at: Sequence[float], backlog: Sequence[Value], changed_s: float) -> Value:
    """Seconds from a change until no more waits than when it was decided; None if no more ever did, or still does."""
    before: Value = None
    has_risen = False
    for time, value in zip(at, backlog, strict=True):
        if value is None:
            continue
        if time <= changed_s:
            before = value
        elif before is not None and value > before:
            has_risen = True
        elif before is not None and has_risen:
            return time - changed_s
    return None


def _pair_forecasts(
    forecasts: Sequence[tuple[float, float]], at: Sequence[float], arrived: Sequence[Value], horizon_s: float
) -> list[tuple[float, float]]:
    """What was said and what came, of forecasts whose horizon lies within the run."""
    pairs = []
    for made_s, said in forecasts:
        if at and made_s + horizon_s <= at[-1]:
            came = [
                value
                for time, value in zip(at, arrived, strict=True)
                if made_s < time <= made_s + horizon_s and value is not None
            ]
            if came:
                pairs.append((said, max(came)))
    return pairs


def _find(evidence: Mapping[str, Json], name: str) -> float | None:
    """The largest of what is said of any pool."""
    found = [
        float(value)
        for key, value in evidence.items()
        if key.partition("/")[0] == name and isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return max(found, default=None)
