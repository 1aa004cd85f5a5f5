import pytest

from elastream.estimators.waves import Stage, slots_for, task_time_s

WHOLE = [Stage(tasks=24, share=1.0)]


def test_a_half_empty_wave_takes_as_long_as_a_full_one() -> None:
    assert task_time_s(24.0, WHOLE, 16) == task_time_s(24.0, WHOLE, 12) == 2.0
    assert task_time_s(24.0, WHOLE, 24) == 1.0


def test_slots_are_what_whole_waves_need() -> None:
    # 24 tasks of 4 s in 10 s: 9.6 slots are enough on paper, and three waves of 4 s are too long.
    assert slots_for(96.0, 10.0, WHOLE) == 12.0
    assert slots_for(48.0, 10.0, WHOLE) == pytest.approx(4.8)


def test_more_slots_than_tasks_are_of_no_use() -> None:
    assert slots_for(1000.0, 10.0, WHOLE) == 24.0


def test_stages_follow_each_other() -> None:
    stages = [Stage(tasks=24, share=0.5), Stage(tasks=1, share=0.5)]
    assert task_time_s(24.0, stages, 24) == pytest.approx(0.5 + 12.0)
