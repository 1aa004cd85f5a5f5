"""The loop inside somebody else's driver, on a platform that only pretends."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.attachment import Attachment, SwitchedOff, attach, entry
from elastream.attachment.assembly import resolve_settings
from elastream.core.decision import Decision
from elastream.core.errors import BadInput, CannotRun, ObservationFailed
from elastream.core.observation import Observation
from elastream.core.protocols import Clock
from elastream.core.signals import Signal
from elastream.loop.controller import Controller
from elastream.spark.observe.prometheus.background import PrometheusWatch
from elastream.testing import observation
from tests.unit.journal_samples import record


class Conf:
    def __init__(self, given: dict[str, str]) -> None:
        self._given = given

    def getAll(self) -> list[tuple[str, str]]:
        return list(self._given.items())


class Context:
    def __init__(self, application: str, conf: dict[str, str]) -> None:
        self.applicationId = application
        self._conf = conf

    def getConf(self) -> Conf:
        return Conf(self._conf)


class Session:
    """As much of a session as attaching looks at."""

    def __init__(self, application: str = "app-1", **conf: str) -> None:
        self.sparkContext = self._sc = Context(application, {k.replace("__", "."): v for k, v in conf.items()})


class Pretended:
    """A platform with three workers. Implements LivePlatform."""

    name = "pretended"
    provides: frozenset[Signal] = frozenset()
    made: list["Pretended"] = []  # noqa: RUF012 - the list of one test, emptied by the fixture

    def __init__(self, spark: object, clock: Clock, **how: Any) -> None:
        self.clock, self.how = clock, how
        self.wanted = 3
        self.applied: list[int] = []
        self.blind = self.ended = self.closed = False
        Pretended.made.append(self)

    def observe(self) -> Observation:
        if self.blind:
            raise ObservationFailed("the gateway does not answer")
        seen = observation(0.0, ready=3, wanted=self.wanted)
        return replace(seen, at_s=self.clock.now_s(), utc_s=self.clock.utc_s())

    def apply(self, decision: Decision) -> None:
        self.wanted = decision.allocation["executors"]
        self.applied.append(self.wanted)

    def has_ended(self) -> bool:
        return self.ended

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Pretended.made = []
    monkeypatch.setattr(entry, "SparkPlatform", Pretended)
    yield
    for handle in list(entry._attached.values()):
        handle.detach()


def attached(session: Session | None = None, **how: Any) -> Attachment:
    settings = {"policy": "fixed", "policy_settings": {"workers": 5}, "tick_s": 0.01, "executors": (1, 8), **how}
    handle = attach(session or Session(), **settings)  # type: ignore[arg-type]
    assert isinstance(handle, Attachment)
    return handle


def wait_for(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 10.0
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def test_it_decides_and_applies_in_a_thread_of_its_own_and_tells_what_it_does() -> None:
    handle = attached()
    (platform,) = Pretended.made
    wait_for(lambda: len(platform.applied) > 2)
    assert set(platform.applied) == {5}
    status = handle.status()
    assert (status.state, status.policy, status.ready) == ("running", "fixed", 3)
    assert status.why == "fixed at 5"


def test_a_second_attach_to_the_same_application_returns_the_first_handle() -> None:
    first = attached()
    assert attached() is first
    assert attached(Session("app-2")) is not first
    assert len(Pretended.made) == 2


def test_a_file_of_settings_is_read_and_anything_else_wins_over_it(tmp_path: Path) -> None:
    path = tmp_path / "elastream.yaml"
    path.write_text("policy: fixed\npolicy_settings: {workers: 4}\nexecutors: 2..6\nslo: {delay: 20s}\n")
    handle = attach(Session(), config=str(path), executors="2:5", tick_s=0.01)  # type: ignore[arg-type]
    (platform,) = Pretended.made
    assert platform.how["bounds"] == (2, 5)
    assert platform.how["slo"].delay_s == 20
    assert isinstance(handle, Attachment)
    wait_for(lambda: handle.status().why == "fixed at 4")


def test_a_second_attach_with_other_settings_says_what_it_does_not_change(caplog: pytest.LogCaptureFixture) -> None:
    first = attached()
    assert attached() is first
    assert attached(executors=(1, 12), policy_settings={"workers": 7}) is first
    (told,) = (message for message in caplog.messages if "already attached" in message)
    assert "executors.max 12 (has 8)" in told
    assert "policy_settings.workers 7 (has 5)" in told
    assert told.endswith("detach first")
    assert "tick_s" not in told
    assert len(Pretended.made) == 1


def test_paused_it_goes_on_looking_and_changes_nothing_until_it_is_resumed() -> None:
    handle = attached(policy_settings={"workers": 3})
    (platform,) = Pretended.made
    handle.pause("dry-run")
    before = handle.status().ticks
    wait_for(lambda: handle.status().ticks > before + 2)
    assert handle.status().state == "paused"
    assert set(platform.applied) == {3}
    handle.resume()
    assert handle.status().state == "running"


def test_detached_the_thread_is_gone_and_what_was_added_is_taken_away() -> None:
    handle = attached()
    (platform,) = Pretended.made
    handle.detach()
    assert handle.status().state == "detached"
    assert platform.closed
    assert not handle._thread.is_alive()
    handle.detach()


def test_it_ends_with_its_application() -> None:
    handle = attached()
    (platform,) = Pretended.made
    platform.ended = True
    wait_for(lambda: not handle._thread.is_alive())
    assert platform.closed
    assert handle.status().state == "ended"


def test_a_handle_whose_application_has_ended_says_so_and_a_new_attach_begins_anew() -> None:
    first = attached(tick_s=60)
    Pretended.made[0].ended = True
    status = first.status()
    assert (status.state, status.why) == ("ended", "the application has ended")
    second = attached()
    assert second is not first
    assert second.status().state == "running"
    assert not first._thread.is_alive()


def test_a_handle_whose_loop_has_failed_says_why_and_a_new_attach_begins_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(Controller, "tick", fail)
        first = attached()
        wait_for(lambda: first.status().state == "failed")
    assert first.status().why == (
        "the loop has failed: RuntimeError: a defect; executors stay as they are, attach again to go on"
    )
    second = attached()
    wait_for(lambda: second.status().ticks > 1)
    assert second is not first
    assert Pretended.made[0].closed
    assert attached() is second
    first.detach()
    assert attached() is second
    assert caplog.messages[0] == "the loop has ended, executors stay as they are: RuntimeError: a defect"


def test_what_a_policy_lacks_leaves_nothing_behind_in_the_application() -> None:
    with pytest.raises(CannotRun, match="threshold"):
        attached(policy="threshold", policy_settings={})
    assert [platform.closed for platform in Pretended.made] == [True]
    assert attached().status().state == "running"


def test_a_platform_that_cannot_be_looked_at_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    handle = attached()
    (platform,) = Pretended.made
    platform.blind = True
    wait_for(lambda: bool(handle.status().troubles))
    assert "the gateway does not answer" in handle.status().troubles[0]
    platform.blind = False
    wait_for(lambda: not handle.status().troubles)
    # It is told behind what status shows.
    wait_for(lambda: "all is well again" in caplog.messages)
    assert caplog.messages.count("no look at pretended: the gateway does not answer") == 1


def test_it_can_be_switched_off_from_outside() -> None:
    handle = attach(Session(spark__elastream__enabled="false"))  # type: ignore[arg-type]
    assert isinstance(handle, SwitchedOff)
    assert handle.status().state == "switched off"
    handle.pause()
    handle.resume()
    handle.detach()
    assert Pretended.made == []


def test_settings_come_from_the_call_before_spark() -> None:
    session = Session(spark__elastream__executors__max="30", spark__elastream__slo__delay="20s")
    attached(session, executors="2..6")
    assert Pretended.made[0].how["bounds"] == (2, 6)
    assert Pretended.made[0].how["slo"].delay_s == 20.0


def guards_of(attachment: Attachment) -> set[str]:
    return set(attachment._controller.planner.guards)


def test_guards_that_keep_queries_alive_are_on_unless_switched_off() -> None:
    limits = {"bottleneck", "partition_ceiling", "scarce_cluster", "state_floor", "bounds"}
    always = {"start", "starvation"} | limits
    assert guards_of(attached(policy="fixed")) == always
    switched = Session("app-2", spark__elastream__guards__state_floor="false")
    other = attached(switched, policy="fixed", guards__cool_down__after_s=5)
    assert guards_of(other) == always - {"state_floor"} | {"cool_down"}


def test_a_policy_without_damping_of_its_own_is_calmed_by_a_guard() -> None:
    def guards(policy: str, **conf: str) -> set[str]:
        found, _ = resolve_settings({"policy": policy}, {f"spark.elastream.{k}": v for k, v in conf.items()})
        return set(found.guards)

    assert "hysteresis" not in guards("hpa")
    assert "hysteresis" in guards("lag-proportional")
    assert "hysteresis" not in guards("lag-proportional", **{"guards.hysteresis": "false"})
    assert "hysteresis" in guards("hpa", **{"guards.hysteresis.patience": "3"})


def test_the_size_to_begin_with_is_what_was_set_or_how_the_run_before_ended(tmp_path: Path) -> None:
    attached(executors__initial=3)
    assert Pretended.made[-1].how["initial"] == 3
    attached(Session("app-2"), journal__folder=tmp_path / "nothing-yet")
    assert Pretended.made[-1].how["initial"] is None
    record(tmp_path / "earlier", [700.0] * 12)
    record(tmp_path / "larger", [900.0] * 12)
    attached(Session("app-3"), journal__folder=tmp_path / "earlier").detach()
    assert Pretended.made[-1].how["initial"] == 7
    attached(Session("app-4"), journal__folder=tmp_path / "larger", executors=(1, 5))
    assert Pretended.made[-1].how["initial"] == 5


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"policy": "fixd", "policy_settings": {}}, "unknown policy 'fixd'; did you mean 'fixed'"),
        ({"tik_s": 5}, "did you mean 'tick'"),
        ({"executors": (5, 2)}, r"executors: found \(5, 2\); the bounds must be 1 <= min <= max"),
        ({"executors": "few"}, "executors: found 'few'; write both bounds, such as 1..12"),
        ({"slo": "soon"}, "soon"),
    ],
)
def test_wrong_settings_are_one_line_and_nothing_is_attached(how: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        attached(**how)
    assert "\n" not in str(caught.value)
    assert not entry._attached
    assert Pretended.made == []


def test_a_journal_is_kept_and_a_loop_that_comes_back_goes_on_from_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "elastream")
    first = attached(journal__folder=str(tmp_path))
    wait_for(lambda: first.status().ticks > 3)
    first.detach()
    attached(journal__folder=str(tmp_path))
    assert any(record.message.startswith("goes on from journal-000001") for record in caplog.records)


def test_what_is_secret_in_the_application_is_so_in_its_journal_log_and_status(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Telling(Pretended):
        def apply(self, decision: Decision) -> None:
            raise OSError("customer=johndoe has too many executors")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "SparkPlatform", Telling)
        folder = tmp_path / "journal"
        handle = attached(Session(spark__redaction__regex="(?i)customer"), journal__folder=folder)
    wait_for(lambda: bool(handle.status().troubles))
    handle.detach()

    written = "".join(path.read_text() for path in folder.glob("*.jsonl"))
    assert "customer=*********(redacted) has too many executors" in written
    assert "johndoe" not in written + caplog.text + str(handle.status())


def test_a_pattern_that_cannot_be_used_is_told_before_anything_is_attached() -> None:
    with pytest.raises(BadInput, match=r"spark\.redaction\.regex: .* cannot be used"):
        attached(Session(spark__redaction__regex="("))
    assert Pretended.made == []


def test_a_second_attach_tells_of_no_secret_that_it_does_not_change(caplog: pytest.LogCaptureFixture) -> None:
    entry._tell_ignored({"policy_settings.api_token": "hunter2"}, {"policy_settings.api_token": "hunter3"})
    assert "hunter" not in caplog.text
    assert "policy_settings.api_token" in caplog.text


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "\0" * 512, '{"schema":3}', "{}\n" * 9, '{"schema":' + "9" * 5000 + "}\n"]
)
def test_no_journal_whatever_stands_in_it_keeps_a_loop_from_beginning(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "elastream")
    (tmp_path / "journal-000001.jsonl").write_text(content)
    handle = attached(journal__folder=str(tmp_path))
    wait_for(lambda: handle.status().ticks > 1)
    assert any(message.startswith("starts anew: ") for message in caplog.messages)
    handle.detach()
    assert (tmp_path / "journal-000002.jsonl").exists()


def test_a_journal_that_cannot_be_written_is_told_and_the_loop_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = attached(journal__folder=str(tmp_path))
    second = attached(Session("app-2"), journal__folder=str(tmp_path))
    wait_for(lambda: second.status().ticks > 1)
    (told,) = (message for message in caplog.messages if message.startswith("nothing is recorded: "))
    assert "writes here; stop it or choose another folder" in told
    first.detach()


def test_a_first_look_that_fails_keeps_no_loop_from_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "elastream")
    record(tmp_path, [700.0] * 12)
    look = Pretended.observe
    looks = iter(range(100))

    def late(platform: Pretended) -> Observation:
        if next(looks) < 2:
            raise ObservationFailed("not yet")
        return look(platform)

    monkeypatch.setattr(Pretended, "observe", late)
    handle = attached(journal__folder=str(tmp_path))
    wait_for(lambda: handle.status().ready == 3)
    assert "starts anew: no look at pretended: not yet" in caplog.messages


def test_a_misspelt_setting_of_attach_is_not_called_an_option_of_a_command() -> None:
    with pytest.raises(BadInput, match=r"^attach: tik_s: no setting 'tik_s'; did you mean 'tick'\?$"):
        resolve_settings({"tik_s": 1}, {})


def test_prometheus_is_asked_from_the_beginning_to_the_end_and_only_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(PrometheusWatch, "start", lambda self: begun.append("asked"))
    monkeypatch.setattr(Context, "appName", "shop", raising=False)
    attached(policy="fixed").detach()
    told = {"prometheus__url": "http://127.0.0.1:1", "prometheus__memory": 'm{app="$name"}'}
    attached(Session("app-2"), policy="fixed", **told).detach()

    assert begun == ["asked"]
    asked, not_asked = Pretended.made[1].how["outside"], Pretended.made[0].how["outside"]
    assert (asked.subjects, not_asked) == ({"memory"}, None)


def test_decisions_are_told_as_json_on_stderr_where_that_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    attachment = attached(policy="fixed", policy_settings={"workers": 2}, log__format="json")
    wait_for(lambda: attachment.status().ticks >= 1)
    attachment.detach()

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert lines[0]["attributes"]["elastream.executors.proposed"] == 2
