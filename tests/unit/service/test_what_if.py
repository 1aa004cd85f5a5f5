"""What if, asked of a page's server: one at a time, only by a page of ours, and nothing but what is offered."""

import http.client
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.experiments.run_folder import find_journal
from elastream.render.page.feed import PageFeed
from elastream.render.page.page import page
from elastream.service import what_if
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from tests.unit.journal_samples import header, planner
from tests.unit.page_samples import calm, recording
from tests.unit.service.asking import free_port, port_of, post, request

ORDER = {"policy": "fixed", "low": 1, "high": 4, "slo_s": 25, "recent_s": 1800}
WAITS = "import sys; sys.stdin.readline(); print('{\"done\": 0.5}', flush=True); sys.stdin.read()"
WITHIN_S = 20.0


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("what-if") / "run"
    load = ["--workload", "cosine(5k..40k, period=4m)", "--duration", "4m", "--tick", "20s", "--slo", "40s"]
    options = ["--policy", "fixed(workers=6)", "--executors", "1..8", "--start", "6", "--out", str(folder)]
    assert main(["simulate", "--model", "enrich", *load, *options]) == 0
    return find_journal(folder)


@pytest.fixture
def server(journal: Path) -> Iterator[PageServer]:
    with PageServer(PageFeed(), place=PagePlace(port=free_port()), journal=journal) as server:
        server.begin_run(header(planner()))
        yield server


def start_hanging(server: PageServer) -> http.client.HTTPConnection:
    """A question whose answer does not come; its first line has come."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=WITHIN_S)
    ours = {"Origin": f"http://127.0.0.1:{port_of(server)}", "Content-Type": "application/json"}
    connection.request("POST", "/what-if", json.dumps(ORDER), ours)
    assert json.loads(connection.getresponse().readline()) == {"done": 0.5}
    return connection


def test_what_is_asked_is_simulated_and_told_beside_what_happened(server: PageServer) -> None:
    told = request(server, "GET", "/what-if").json()
    assert told["offered"] is True
    assert "foresight" in told["policies"]
    found = post(server, "/what-if", ORDER)
    assert found.status == 200
    lines = [json.loads(line) for line in found.text.splitlines()]
    assert lines[0]["doing"] == "reading the journal"
    assert any(line.get("doing") == "simulating fixed(workers=4)" for line in lines)
    answer = lines[-1]["answer"]
    [four] = answer["options"]
    assert four["executors"] == {"min": 1, "max": 4}
    assert four["slo"]["delay_s"] == 25
    # What happened is six executors all the time; with four, those that are too many leave at once.
    assert four["executor_hours"]["value"] < 0.75 * answer["happened"]["executor_hours"]
    curves = answer["curves"]
    assert len(curves["at"]) == len(curves["happened"]["ready"]) == len(curves["simulated"]["delay"])
    assert (curves["happened"]["ready"][-1], curves["simulated"]["ready"][-1]) == (6.0, 4.0)


def test_only_one_is_simulated_at_a_time_and_it_ends_with_who_asked(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "COMMAND", (sys.executable, "-c", WAITS))
    connection = start_hanging(server)
    busy = post(server, "/what-if", ORDER)
    assert (busy.status, busy.text) == (409, "one is simulated already; wait until it is done\n")
    connection.close()
    until_s = time.monotonic() + WITHIN_S
    while True:
        # The next is let in as soon as the process of the first is gone.
        monkeypatch.setattr(what_if, "COMMAND", (sys.executable, "-c", "print('{}')"))
        if (again := post(server, "/what-if", ORDER)).status == 200:
            break
        assert time.monotonic() < until_s
        time.sleep(0.05)
    assert again.text == "{}\n"


def test_what_takes_too_long_is_ended_and_said_so(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "COMMAND", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(what_if, "WITHIN_S", 0.3)
    found = post(server, "/what-if", ORDER)
    assert json.loads(found.text) == {"refused": "it took longer than 0.3 s; choose less time"}
    monkeypatch.setattr(what_if, "COMMAND", (sys.executable, "-c", "import os; os.abort()"))
    monkeypatch.setattr(what_if, "WITHIN_S", WITHIN_S)
    assert "too much for its bounds" in post(server, "/what-if", ORDER).text


def test_a_page_of_somebody_else_cannot_make_us_compute(server: PageServer) -> None:
    assert post(server, "/what-if", ORDER, Origin="http://elsewhere.example").status == 403
    assert post(server, "/what-if", ORDER, Origin=None).status == 403
    assert post(server, "/what-if", ORDER, Sec_Fetch_Site="cross-site").status == 403
    assert post(server, "/what-if", ORDER, Content_Type="text/plain").status == 415
    assert post(server, "/what-if", ORDER, Host="elsewhere.example").status == 421
    assert post(server, "/what-if", b"x" * 10_000).status == 413


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"policy": "my_module:Mine"}, "policy: it must be one of foresight,"),
        ({"policy": "fixed(workers=9)"}, "policy: it must be one of foresight,"),
        ({"policy": ["foresight"]}, "policy: it must be one of foresight,"),
        ({"low": 5, "high": 4}, "give both bounds"),
        ({"low": None}, "give both bounds"),
        ({"high": 10**9}, "high: it must be a whole number"),
        ({"low": None, "high": None}, "a fixed size needs one"),
        ({"low": True}, "low: it must be a whole number"),
        ({"slo_s": "20"}, "slo_s: it must be between"),
        ({"slo_s": 0}, "slo_s: it must be between"),
        ({"recent_s": 1e9}, "recent_s: it must be one of"),
        ({"folder": "/etc"}, "there is no 'folder'"),
    ],
)
def test_nothing_but_what_is_offered_is_simulated(server: PageServer, change: dict[str, object], reason: str) -> None:
    found = post(server, "/what-if", {**ORDER, **change})
    assert found.status == 422
    assert reason in found.text


def test_without_a_journal_it_is_not_offered_and_says_why(tmp_path: Path) -> None:
    with PageServer(PageFeed(), place=PagePlace(port=free_port())) as server:
        told = request(server, "GET", "/what-if").json()
        assert (told["offered"], told["missing"]) == (False, what_if.NO_JOURNAL)
        assert post(server, "/what-if", ORDER).status == 409


def test_the_page_that_is_a_file_asks_nobody() -> None:
    assert "what-if" not in page(recording(calm(range(1, 4))))
