"""One question to a Prometheus server: what comes back is bounded, and says why where it says nothing."""

import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from elastream.core.errors import ObservationFailed
from elastream.spark.observe.prometheus import client as module
from elastream.spark.observe.prometheus.client import PrometheusClient, SeriesPoint
from tests.unit.spark.answering import Answer, answering, matrix, vector


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def trickle(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    for _ in range(100):
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.02)


def test_samples_keep_the_times_they_were_scraped_at() -> None:
    with answering({"up[60000ms]": matrix(({"job": "a"}, [(10.0, 1.0), (25.0, 2.0)]))}) as server:
        (series,) = PrometheusClient(server.url).ask("up[60000ms]", 30.0)
    assert series.labels == {"job": "a"}
    assert series.points == (SeriesPoint(1.0, 10.0), SeriesPoint(2.0, 25.0))


def test_what_is_no_number_is_left_out() -> None:
    with answering({"x": vector(({"pod": "a"}, float("nan")), ({"pod": "b"}, float("inf")))}) as server:
        assert [one.points for one in PrometheusClient(server.url).ask("x")] == [(), ()]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<html>", "no JSON"),
        (b"[]", "no data"),
        (b'{"status":"success","data":{"resultType":"string","result":[1,"x"]}}', "no list of series"),
        (b'{"status":"success","data":{"resultType":"vector","result":[{"metric":7,"value":[1,"x"]}]}}', "no list of"),
        (b"[" * 100_000, "no JSON"),
        (status(400, b'{"status":"error","error":"parse error: \\u001b[31mpassword=hunter2"}'), "it refuses: parse"),
        (status(503), "HTTP 503"),
        (b"x" * 3000, "larger than"),
    ],
)
def test_whatever_is_no_answer_says_why(answer: Answer, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if answer == b"x" * 3000:
        monkeypatch.setattr(module, "MOST_BYTES", 2000)
    with answering({"x": answer}) as server, pytest.raises(ObservationFailed, match=reason) as raised:
        PrometheusClient(server.url, timeout_s=60.0).ask("x")
    assert "\x1b" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret-token")
    with answering({"x": vector()}) as elsewhere:
        sends = status(302, Location=f"{elsewhere.url}/api/v1/query")
        with answering({"x": sends}) as server, pytest.raises(ObservationFailed, match="not followed"):
            PrometheusClient(server.url, token_file=tmp_path / "token").ask("x")
    assert elsewhere.asked == []


@pytest.mark.parametrize("answer", [trickle, lambda request: time.sleep(0.6)])
def test_who_is_slow_is_not_waited_for(answer: Answer) -> None:
    with answering({"x": answer}) as server, pytest.raises(ObservationFailed, match=r"within 0\.3 s"):
        PrometheusClient(server.url, timeout_s=0.3).ask("x")


def test_nobody_there_is_told_in_a_line() -> None:
    with pytest.raises(ObservationFailed, match="refused"):
        PrometheusClient("http://127.0.0.1:1").ask("x")


def test_a_token_is_read_anew_for_each_question_and_stands_in_its_header(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with answering({"x": vector()}) as server:
        asking = PrometheusClient(server.url, token_file=file)
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            asking.ask("x")
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize("text", ["", "two\nlines", "tab\there", "größer"])
def test_a_file_that_holds_no_token_ends_no_header_early(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with answering({"x": vector()}) as server, pytest.raises(ObservationFailed, match="one line"):
        PrometheusClient(server.url, token_file=file).ask("x")
    assert server.asked == []


def test_a_password_goes_with_its_user(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    with answering({"x": vector()}) as server:
        PrometheusClient(server.url, user="ali", password_file=file).ask("x")
    assert server.headers[0]["Authorization"] == "Basic YWxpOm9wZW4gc2VzYW1l"


def test_the_clock_of_the_server_is_asked() -> None:
    with answering({}) as server:
        server_s, ahead_s = PrometheusClient(server.url).clock()
    assert abs(server_s - time.time()) < 5
    assert abs(ahead_s) < 5
