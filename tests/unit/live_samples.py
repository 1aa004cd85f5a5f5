"""A live run to look at, without Spark: a load that rises, executors that follow, and a promise."""

from collections.abc import Iterator
from dataclasses import replace

from elastream.core.decision import Decision
from elastream.core.observation import FinishedBatch, Observation, Reading, Source, Worker
from elastream.core.slo import OnTime, Slo
from elastream.core.tick import Tick
from tests.unit.journal_samples import UTC_S, tick
from tests.unit.page_samples import look, query

SLO = Slo(delay_s=15.0)
WHY = (
    "clicks: 2,412/s arrive and a backlog of 7,320 is to be worked off in 20 s, which needs 2,778/s; an executor has"
    " stood 480/s over the last minute, so that six of them are enough, with a little to spare for the next spike"
)


def run(*, delay_s: float = 4.0, late: float = 0.0, looks: int = 30, executors: int = 7) -> Iterator[Tick]:
    """A look every two seconds; of the records, a share is late."""
    for number in range(looks):
        at_s = 2.0 * number
        now = _look(at_s, delay_s=delay_s, late=late, executors=executors)
        yield tick(number, now, Decision.keep(now, WHY))


def _look(at_s: float, *, delay_s: float, late: float, executors: int) -> Observation:
    arrived = 2412.0 * at_s
    clicks = replace(
        query(at_s, p95_s=delay_s),
        sources=(Source(name="log", arrived=Reading(arrived + 7320, at_s), committed=Reading(arrived, at_s)),),
        finished=FinishedBatch(id=1, started_s=at_s, ended_s=at_s),
        slo=SLO,
        on_time=OnTime(records=arrived + 1000, within=(arrived + 1000) * (1 - late)),
    )
    now = look(at_s, clicks, wanted=executors, ready=executors - 1, leaving=1)
    workers = tuple(
        Worker(id=str(number), state="ready", since_s=0.0, pid=1_239_871 + number) for number in range(executors)
    )
    pools = tuple(replace(pool, workers=workers) for pool in now.pools)
    return replace(now, utc_s=UTC_S + at_s, pools=pools)
