"""What a crowd at the page costs the loop (goal: 50 viewers and 1,000 idle connections less than 2 % of its tick).

The same loop serves the same page all the time; a process of its own is the crowd, and comes and goes. What a tick
takes beside it is compared with what it takes alone and without a page, block by block, so that whatever else the
machine does hits all. That still counts as time: so it is told too what of a tick was neither work of its own nor a
wait for a processor (Linux tells both), for in that the page's thread kept the interpreter from it.

    python -m benchmarks.page_load [--blocks 3] [--seconds 30] [--queries 5] [--executors 50]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.journal_size import TICK_S, look
from benchmarks.machine import machine
from elastream.attachment.assembly import GUARDS
from elastream.config import build_guards
from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.journal.format import describe
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.render.page.feed import PageFeed
from elastream.service.server import PageServer
from elastream.simulator.microbatch.platform import PROVIDES

VIEWERS, IDLE = 50, 1_000
EVERY_S = 0.5
"""Between two ticks: ten times as many as a loop makes, so that a block has enough of them."""
COMES_BACK_S = 1.0
WARM_UP_S = 5.0


class Looks:
    """A platform of so many executors and queries, on which time passes by ticks. Implements Platform."""

    name = "looks"
    provides = PROVIDES

    def __init__(self, clock: VirtualClock, executors: int, queries: int) -> None:
        self._clock, self._executors, self._queries = clock, executors, queries

    def observe(self) -> Observation:
        return look(self._clock.now_s(), executors=self._executors, queries=self._queries)

    def apply(self, decision: Decision) -> None:
        """Nothing is done."""

    def has_ended(self) -> bool:
        return False


def main() -> None:
    """Print what ticks take alone and beside the crowd."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=3, help="of each kind, one after the other")
    parser.add_argument("--seconds", type=float, default=30.0, help="that a block takes")
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--executors", type=int, default=50)
    given = parser.parse_args()
    print(machine())
    clock = VirtualClock(utc_s=1_767_268_800.0)
    planner = Planner(policies.build("lag-proportional", {}), build_guards({key[7:]: {} for key in GUARDS}), PROVIDES)
    platform = Looks(clock, given.executors, given.queries)
    without: list[SpentTick] = []
    alone: list[SpentTick] = []
    beside: list[SpentTick] = []
    spent = [0.0, 0.0, 0.0]
    with PageServer(PageFeed()) as server:
        loop = Controller(platform=platform, planner=planner, clock=clock, tick_s=TICK_S, journals=[server])
        bare = Controller(platform=platform, planner=planner, clock=clock, tick_s=TICK_S)
        server.begin_run(
            describe(planner, platform, policy="lag-proportional", tick_s=TICK_S, max_age_s=15, utc_s=clock.utc_s())
        )
        ticks(loop, clock, WARM_UP_S)
        for _ in range(given.blocks):
            began_s = time.process_time()
            without += ticks(bare, clock, given.seconds)
            spent[0] += time.process_time() - began_s
            began_s = time.process_time()
            alone += ticks(loop, clock, given.seconds)
            spent[1] += time.process_time() - began_s
            with crowd(server.address):
                time.sleep(2.0)
                began_s = time.process_time()
                beside += ticks(loop, clock, given.seconds)
                spent[2] += time.process_time() - began_s
                looked = len(server.hub.viewers)
                print(f"  {looked} viewers look on; {server.hub.dropped} ticks were left out", flush=True)
    report("without a page", without, spent[0])
    report("alone", alone, spent[1])
    report("beside the crowd", beside, spent[2])
    own_s = median(one.own_s for one in without)
    for name, found in (("a page", alone), ("a page and its crowd", beside)):
        # Not the mean: time that a virtual machine is not given stands in neither account.
        kept_s = median(one.kept_s for one in found) - median(one.kept_s for one in without)
        print(f"{name} keeps the interpreter from a tick for {kept_s * 1e3:+.2f} ms in the median: "
              f"{kept_s / own_s:.1%} of what it takes itself (goal: less than 2 %)")  # fmt: skip


class SpentTick(NamedTuple):
    """Where the time of a tick went."""

    took_s: float
    own_s: float
    """Work of its own."""
    kept_s: float
    """Neither that nor a wait for a processor."""


def ticks(loop: Controller, clock: VirtualClock, seconds: float) -> list[SpentTick]:
    """What each tick took, for so long."""
    found = []
    until_s = due_s = time.monotonic()
    until_s += seconds
    while due_s < until_s:
        time.sleep(max(0.0, due_s - time.monotonic()))
        clock.sleep_until(clock.now_s() + TICK_S)
        began_s, own_s, queued_s = time.perf_counter(), time.thread_time(), waited_for_a_processor()
        loop.tick()
        queued_s, own_s = waited_for_a_processor() - queued_s, time.thread_time() - own_s
        took_s = time.perf_counter() - began_s
        found.append(SpentTick(took_s, own_s, took_s - own_s - queued_s))
        due_s += EVERY_S
    return found


def waited_for_a_processor() -> float:
    """How long this thread did so far."""
    return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9


def report(name: str, found: list[SpentTick], spent_s: float) -> None:
    took, own, kept = (sorted(getattr(one, part) for one in found) for part in ("took_s", "own_s", "kept_s"))
    most = int(0.9 * (len(found) - 1))
    print(f"{name:17} {len(found)} ticks: median {median(took) * 1e3:6.2f} ms, 90th percentile "
          f"{took[most] * 1e3:6.2f} ms; own work {median(own) * 1e3:.2f} and {own[most] * 1e3:.2f} ms, kept from it "
          f"{median(kept) * 1e3:.2f} and {kept[most] * 1e3:.2f} ms; the whole process needs "
          f"{spent_s / len(found) / EVERY_S:.1%} of a core")  # fmt: skip


@contextlib.contextmanager
def crowd(address: str) -> Iterator[None]:
    """Viewers and idle connections, from another process, for as long as the block lasts."""
    context = multiprocessing.get_context("spawn")
    goes = context.Event()
    process = context.Process(target=_come, args=(address, goes), daemon=True)
    process.start()
    try:
        yield
    finally:
        goes.set()
        process.join(10.0)
        process.kill()
        process.join()


def _come(address: str, goes: Event) -> None:
    asyncio.run(_crowd(int(address.rstrip("/").rpartition(":")[2]), goes))


async def _crowd(port: int, goes: Event) -> None:
    people = [asyncio.ensure_future(_view(port)) for _ in range(VIEWERS)]
    people += [asyncio.ensure_future(_idle(port)) for _ in range(IDLE)]
    while not goes.is_set():
        await asyncio.sleep(0.1)
    for one in people:
        one.cancel()
    await asyncio.gather(*people, return_exceptions=True)


async def _view(port: int) -> None:
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
                while await reader.read(1 << 16):
                    pass
            finally:
                writer.close()
        await asyncio.sleep(COMES_BACK_S)


async def _idle(port: int) -> None:
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await reader.read(1)
            finally:
                writer.close()
        await asyncio.sleep(COMES_BACK_S)


if __name__ == "__main__":
    main()
