"""A real Prometheus: it scrapes a loop that runs, and is asked by that loop."""

import http.client
import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest

from elastream.config import PrometheusSettings
from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.daemons.child_processes import end_with_parent
from elastream.journal.format import describe
from elastream.loop.clock import SystemClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.render.page.feed import PageFeed
from elastream.service.metric_names import METRICS
from elastream.service.metrics import RunMetrics
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.observer import PROVIDES, Observer
from elastream.spark.observe.prometheus.background import PrometheusWatch, watch_for
from elastream.spark.scale.roster import Registered
from tests.deployed import FOLDER, RULES, RULES_TEST, filled, queries_of_boards, queries_of_rules
from tests.unit.live_samples import run
from tests.unit.service.asking import free_port, port_of
from tests.unit.spark.answering import serving
from tests.unit.spark.reading import FixedSizes

pytestmark = pytest.mark.needs("prometheus")

EVERY_S, MAX_AGE_S, WITHIN_S, TIMEOUT_S = 0.25, 3.0, 60.0, 20.0
STREAM = "org.apache.spark.sql.execution.streaming.sources.TextSocketMicroBatchStream"
SOCKET = {
    "id": "0a1b", "run": "r", "name": "clicks", "active": True, "trigger": "ProcessingTimeTrigger(5000)", "batch": 0,
    "described": {"sources": [{"class": STREAM}], "leaves": [0]}, "committed": [3], "available": [3], "latest": [None],
    "logs": [None],
}  # fmt: skip


@contextmanager
def exporter() -> Iterator[int]:
    """What cAdvisor and the exporter of a queue would tell: an executor that uses one and a half processors."""
    began_s = time.time()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lines = (
                f'cpu_seconds_total{{pod="shop-exec-1",container="spark"}} {1.5 * (time.time() - began_s):.6f}',
                'memory_bytes{pod="shop-exec-1",container="spark"} 4.2e8',
                'memory_bytes{pod="shop-exec-1",container="proxy"} 9e9',
                'queue_waiting{queue="clicks"} 700',
                'queue_waiting{queue="views"} 5',
            )
            body = "\n".join(lines).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with serving(Handler) as port:
        yield port


@dataclass
class Prometheus:
    """A server with a store of its own."""

    port: int
    process: "subprocess.Popen[bytes]"

    def get(self, path: str) -> object:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def ask(self, promql: str) -> list[tuple[Mapping[str, str], float]]:
        told = self.get(f"/api/v1/query?query={quote(promql)}")
        assert isinstance(told, dict)
        assert told["status"] == "success", f"{promql}: {told.get('error')}"
        found = told["data"]["result"] if told["data"]["resultType"] == "vector" else []
        return [(one["metric"], float(one["value"][1])) for one in found]

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@contextmanager
def prometheus(folder: Path, targets: Mapping[str, int]) -> Iterator[Prometheus]:
    jobs = [{"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for job, port in targets.items()]
    settings = {
        "global": {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": jobs,
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # YAML is a superset
    port = free_port()
    command = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=end_with_parent)
    server = Prometheus(port, process)
    try:
        wait_for(server.is_ready, "Prometheus is ready")
        yield server
    finally:
        server.end()


def wait_for(holds: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {WITHIN_S:g} s: {what}"
        time.sleep(0.1)


class FarPlatform:
    """Two executors on another host and a query over a socket, of which Spark knows next to nothing."""

    name = "spark"
    provides = PROVIDES

    def __init__(self, clock: SystemClock, outside: PrometheusWatch) -> None:
        self._clock = clock
        self._observer = Observer(
            application="app-1", bounds=(1, 9), slots_per_worker=2, slo=Slo(delay_s=30.0), usage=dict, outside=outside
        )

    def observe(self) -> Observation:
        at_s, utc_s = self._clock.now_s(), self._clock.utc_s()
        executors = {name: {"host": "far", "busy_ms": 0} for name in ("1", "2")}
        told = {"at_ms": utc_s * 1000, "busy_ms": 0, "executors": executors, "queries": [SOCKET]}
        look = parse_snapshot(json.dumps(told))
        return self._observer.fold(look, Registered(("1", "2"), ()), FixedSizes(), at_s=at_s, utc_s=utc_s)

    def apply(self, decision: Decision) -> None:
        pass

    def has_ended(self) -> bool:
        return False


class Loop:
    """Ticks by hand, as often as somebody asks for it."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.longest_s = 0.0

    def tick(self) -> Tick:
        began_s = time.monotonic()
        tick = self._controller.tick()
        self.longest_s = max(self.longest_s, time.monotonic() - began_s)
        return tick

    def until(self, holds: Callable[[Tick], bool], what: str) -> Tick:
        found: list[Tick] = []

        def look() -> bool:
            found[:] = [self.tick()]
            return holds(found[0])

        wait_for(look, what)
        return found[0]


@pytest.fixture
def page() -> Iterator[PageServer]:
    with PageServer(PageFeed(), place=PagePlace(port=free_port())) as serving:
        yield serving


@pytest.fixture
def server(page: PageServer, tmp_path: Path) -> Iterator[Prometheus]:
    with exporter() as exported, prometheus(tmp_path, {"elastream": port_of(page), "outside": exported}) as running:
        yield running


@pytest.fixture
def loop(page: PageServer, server: Prometheus) -> Iterator[Loop]:
    """It asks the server, and is served for it to scrape."""
    asks = PrometheusSettings(
        url=f"http://127.0.0.1:{server.port}", every_s=EVERY_S, timeout_s=TIMEOUT_S, window_s=5.0,
        cpu='cpu_seconds_total{pod=~"shop-.*"}',
        memory='sum by (pod) (memory_bytes{container="spark"})',
        memory_times='max by (pod) (timestamp(memory_bytes{container="spark"}))',
        lag='queue_waiting{queue=~"clicks|views"}', query_label="queue",
    )  # fmt: skip
    clock, outside = SystemClock(), watch_for(asks, {"application": "app-1", "name": "shop"}, MAX_AGE_S)
    assert outside is not None
    platform = FarPlatform(clock, outside)
    planner = Planner(policies.build("fixed", {"workers": 2}), {}, platform.provides)
    header = describe(planner, platform, policy="fixed", tick_s=1, max_age_s=MAX_AGE_S, utc_s=clock.utc_s())
    page.begin_run(replace(header, name="shop"))
    outside.start()
    yield Loop(
        Controller(platform=platform, planner=planner, clock=clock, tick_s=1.0, max_age_s=MAX_AGE_S, journals=[page])
    )
    outside.stop()


def test_a_loop_is_scraped_and_asks_back_and_what_is_no_longer_said_is_unknown(loop: Loop, server: Prometheus) -> None:
    check_what_is_asked(loop)
    check_what_is_told(loop, server)
    server.process.send_signal(signal.SIGSTOP)  # silent, and not gone
    try:
        silent = loop.until(lambda tick: cpu_of(tick) is None, "processor use is unknown")
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert silent.observation is not None
    assert silent.observation.queries[0].backlog is None
    loop.until(lambda tick: cpu_of(tick) is not None and not tick.troubles, "known again")
    server.end()
    gone = loop.until(lambda tick: any("refused" in trouble for trouble in tick.troubles), "a trouble")

    (line,) = gone.troubles
    assert line.startswith(f"prometheus at 127.0.0.1:{server.port}: Connection refused (not known: ")
    # The server was asked all along, and was waited for by nobody.
    assert loop.longest_s < TIMEOUT_S / 2


def cpu_of(tick: Tick) -> float | None:
    assert tick.observation is not None
    cpu = tick.observation.pools[0].workers[0].cpu
    return None if cpu is None else cpu.value


def check_what_is_asked(loop: Loop) -> None:
    tick = loop.until(
        # One and a half processors of two slots; of two samples soon after each other, little is known.
        lambda tick: cpu_of(tick) == pytest.approx(0.75, abs=0.1) and tick.observation is not None
        and tick.observation.queries[0].backlog is not None,
        "processor use and backlog",
    )  # fmt: skip
    assert tick.observation is not None
    first, second = tick.observation.pools[0].workers
    assert first.cpu_from == "prometheus"
    assert first.memory_bytes is not None
    assert first.memory_bytes.value == 4.2e8
    assert tick.observation.at_s - MAX_AGE_S <= first.memory_bytes.at_s <= tick.observation.at_s + 1
    assert (second.cpu, second.memory_bytes) == (None, None)
    assert tick.observation.queries[0].backlog == 700
    assert tick.observation.queries[0].sources[0].arrived_from == "prometheus"


def check_what_is_told(loop: Loop, server: Prometheus) -> None:
    def is_scraped() -> bool:
        loop.tick()
        return server.ask('elastream_backlog_records{application="shop",query="clicks"}') != []

    wait_for(is_scraped, "the loop is scraped")
    ((labels, ready),) = server.ask("elastream_executors_ready")
    assert (labels["application"], ready) == ("shop", 2.0)
    assert server.ask("elastream_backlog_records")[0][1] == 700.0
    metadata = server.get("/api/v1/metadata")
    assert isinstance(metadata, dict)
    assert {one["help"] for one in metadata["data"]["elastream_executors_ready"]} == {
        METRICS["elastream_executors_ready"].says
    }
    # Whether they can be asked at all; what they ask for is another test's.
    for where, promql, _ in (*queries_of_boards(), *queries_of_rules()):
        assert server.ask(filled(promql)) is not None, where


def test_promtool_finds_nothing_wrong_with_what_is_told_and_with_the_rules() -> None:
    metrics = RunMetrics()
    for tick in run(looks=4):
        metrics.write(tick)
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics.scrape(), capture_output=True, check=False)
    told = [line for line in checked.stderr.decode().splitlines() if "quantile" not in line]
    assert told == []
    for what in (["check", "rules", str(RULES)], ["test", "rules", str(RULES_TEST)]):
        done = subprocess.run(["promtool", *what], capture_output=True, text=True, cwd=FOLDER, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
