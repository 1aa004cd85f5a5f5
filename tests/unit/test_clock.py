import time
from threading import Timer

from elastream.loop.clock import SystemClock, VirtualClock


def test_virtual_time_passes_only_when_someone_sleeps() -> None:
    clock = VirtualClock(utc_s=1_000.0)
    assert (clock.now_s(), clock.utc_s()) == (0.0, 1_000.0)
    clock.sleep_until(60.0)
    assert (clock.now_s(), clock.utc_s()) == (60.0, 1_060.0)


def test_virtual_time_never_goes_back() -> None:
    clock = VirtualClock()
    clock.sleep_until(60.0)
    clock.sleep_until(10.0)
    assert clock.now_s() == 60.0


def test_system_time_moves_on_and_is_close_to_utc() -> None:
    clock = SystemClock()
    first = clock.now_s()
    assert clock.now_s() >= first
    assert abs(clock.utc_s() - time.time()) < 5.0


def test_times_remembered_by_a_loop_that_ended_are_in_the_past_of_the_next_one() -> None:
    remembered = SystemClock().now_s()
    # Not so with the bare monotonic clock, which begins anew with every boot.
    assert abs(SystemClock().now_s() - remembered) < 5.0
    assert abs(SystemClock().now_s() - time.time()) < 5.0


def test_sleeping_lasts_until_then_and_not_at_all_for_the_past() -> None:
    clock = SystemClock()
    until_s = clock.now_s() + 0.01
    clock.sleep_until(until_s)
    assert clock.now_s() >= until_s - 1e-3
    clock.sleep_until(until_s - 3600)


def test_a_sleeper_can_be_woken_and_sleeps_no_more() -> None:
    clock = SystemClock()
    started_s = clock.now_s()
    timer = Timer(0.01, clock.wake)
    timer.start()
    clock.sleep_until(started_s + 3600)
    timer.join()
    clock.sleep_until(started_s + 3600)
    assert clock.now_s() - started_s < 60
