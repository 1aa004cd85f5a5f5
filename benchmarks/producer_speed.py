"""Events per second of `elastream produce --max` into a broker on this machine, 4 partitions (goal: 200,000).

Beside it, in the same run, a bare loop over librdkafka with bytes that were prepared: what no producer in Python beats.
Both alternate, because the machine may be shared; broker and producer share its cores. `HOST:PORT` as argument takes
a broker that runs already.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from statistics import median

import pyarrow as pa  # type: ignore[import-untyped]

from benchmarks.machine import machine
from elastream.development.kafka.contact import Troubles
from elastream.development.kafka.producer import ProducerRun, Production
from elastream.development.kafka.producer_client import Target, connect
from elastream.development.kafka.topics import create_topic
from elastream.events.generators import batches
from elastream.events.options import SourceOptions, parse_options
from elastream.events.wire import Messages, messages

GOAL_RPS = 200_000
EVENTS = 2_000_000
PARTITIONS = 4
WARM_UPS, RUNS = 1, 5


def main() -> None:
    """Print both figures and their ratio."""
    print(machine())
    options = parse_options({"workload": "constant(200k)", "rows": str(EVENTS), "partitions": str(PARTITIONS)})
    prepared = [messages(batch, "key") for batch in made(options)]
    size = sum(len(value) for part in prepared for value in part.values) / EVENTS
    with ExitStack() as stack:
        bootstrap = sys.argv[1] if len(sys.argv) > 1 else broker(stack)
        bare, ours = [], []
        for _ in range(WARM_UPS + RUNS):
            target = Target(bootstrap=bootstrap, topic=f"producer-speed-{time.time_ns()}")
            create_topic(target.bootstrap, target.topic, PARTITIONS)
            bare.append(rates(partial(bare_loop, target, prepared)))
            ours.append(rates(partial(produced, target, options)))
    bare, ours = bare[WARM_UPS:], ours[WARM_UPS:]
    verdict = "met" if median(wall for wall, _ in ours) >= GOAL_RPS else "MISSED"
    print(f"bare librdkafka loop: {spelt(bare)}")
    print(f"produce --max:        {spelt(ours)}   goal {GOAL_RPS:,} {verdict}")
    wall, cpu = ([one[i] / other[i] for one, other in zip(ours, bare, strict=True)] for i in (0, 1))
    print(
        f"ratio {median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f}) on the wall, {median(cpu):.2f} of CPU", end="; "
    )
    print(f"values of {size:.0f} bytes, with keys")


def spelt(found: list[tuple[float, float]]) -> str:
    wall, cpu = zip(*found, strict=True)
    return f"{median(wall):10,.0f} events/s ({min(wall):,.0f} to {max(wall):,.0f}), {median(cpu):,.0f} per CPU-second"


def made(options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """All events, a batch at a time."""
    return batches(options.generator, options.times, options.part(0, EVENTS), range(EVENTS))


def broker(stack: ExitStack) -> str:
    from elastream.development.kafka.local_broker import BrokerSettings, LocalBroker

    return stack.enter_context(LocalBroker(BrokerSettings(heap="512m"))).bootstrap


def rates(work: Callable[[], None]) -> tuple[float, float]:
    """Events per second of the wall's time, and of this process's processor time: what others do costs others."""
    began_s, cpu_s = time.monotonic(), time.process_time()
    work()
    return EVENTS / (time.monotonic() - began_s), EVENTS / (time.process_time() - cpu_s)


def bare_loop(target: Target, prepared: list[Messages]) -> None:
    """The same messages and settings, and nothing but the loop: no generator, no text, no delivery reports."""
    client = connect(target, Troubles())
    produce, topic, n = client.produce, target.topic, 0
    for keys, values in prepared:
        for key, value in zip(keys, values, strict=True):
            while True:
                try:
                    produce(topic, value, key, n % PARTITIONS)
                    break
                except BufferError:
                    client.poll(0.01)
            n += 1
        client.poll(0)
    if client.flush(60):
        raise SystemExit("the bare loop left messages behind")


def produced(target: Target, options: SourceOptions) -> None:
    troubles = Troubles()
    production = Production(topic=target.topic, options=options, start_s=time.time(), paced=False)
    verdict = ProducerRun(production, connect(target, troubles), troubles, tell=print).run()
    if not verdict.right:
        raise SystemExit(verdict.failure)


if __name__ == "__main__":
    main()
