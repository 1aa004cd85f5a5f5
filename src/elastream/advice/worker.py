"""One answer for a page, in a process of its own: asked on stdin, told on stdout as lines of JSON.

{"folder": "runs/app/journal", "policy": "foresight", "low": 1, "high": 8, "slo_s": 20.0, "recent_s": 3600.0}

{"done": 0.4, "doing": "simulating foresight"}     a few times
{"answer": {...}} or {"refused": "a sentence"}     once
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from elastream.advice.advice import Advice, AdviceOption, Adviser, SimulatedOption, parse_option
from elastream.advice.document import describe_advice
from elastream.advice.recorded_run import take_last
from elastream.core.errors import ElastreamError, spell_error
from elastream.core.log import log
from elastream.core.sanitizer import sanitizer
from elastream.core.slo import SHARE, Slo
from elastream.evaluation.series import Measure, RunSeries
from elastream.journal.reader import read

DRAWS = 5
"""Somebody waits."""
POINTS = 240
"""Of each curve."""
NICE = 10
CPU_S = 300
MEMORY_BYTES = 4 * 2**30
CURVES: tuple[Measure, ...] = ("ready", "delay", "backlog")


def answer(order: Mapping[str, Any]) -> dict[str, object]:
    """What was asked, simulated. Raises ElastreamError where it cannot be."""
    folder = Path(str(order["folder"]))
    _tell(0.0, "reading the journal")
    run = take_last(read(folder), folder.name, float(order["recent_s"]))
    _tell(0.0, "calibrating")
    adviser = Adviser(run, draws=DRAWS)
    recorded = adviser.find_recorded()
    option = parse_option(str(order["policy"])) if order.get("policy") else recorded
    advice = adviser.advise(
        [_change(option, order, adviser.slo)], lambda label, done: _tell(done, f"simulating {label}")
    )
    return {**describe_advice(advice), "curves": draw_curves(advice, advice.options[0])}


def draw_curves(advice: Advice, option: SimulatedOption) -> dict[str, object]:
    """What happened and what might have been on one axis of time, held from each look to the next."""
    real = advice.real_series
    step_s = max(real.end - real.start, 1.0) / (POINTS - 1)
    passed = [place * step_s for place in range(POINTS)]
    return {
        "at": [round(real.start + at_s, 2) for at_s in passed],
        **{
            name: {measure: _sample(series, measure, passed) for measure in CURVES}
            for name, series in (("happened", real), ("simulated", option.series))
        },
    }


def _change(option: AdviceOption, order: Mapping[str, Any], slo: Slo | None) -> AdviceOption:
    low, high, slo_s = order.get("low"), order.get("high"), order.get("slo_s")
    bounds = (int(low), int(high)) if low is not None and high is not None else None
    promise = Slo(delay_s=float(slo_s), share=slo.share if slo is not None else SHARE) if slo_s is not None else None
    return replace(option, bounds=bounds, slo=promise)


def _sample(series: RunSeries, measure: Measure, passed: list[float]) -> list[float | None]:
    values, place, found = series.column(measure), 0, []
    for at_s in passed:
        while place + 1 < len(series.at) and series.at[place + 1] - series.start <= at_s + 1e-6:
            place += 1
        value = values[place] if values else None
        found.append(None if value is None else float(f"{value:.5g}"))
    return found


def _tell(done: float, doing: str) -> None:
    _print({"done": round(done, 3), "doing": doing})


def _print(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(sanitizer().texts(document), allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _limit() -> None:
    """Whoever looks on must not feel this, nor the job that is watched on the same machine."""
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _end_with_stdin() -> None:
    """Who asked is gone, or does not want to know any more."""
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Answer the one line on stdin."""
    _limit()
    log.disabled = True
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        _print({"answer": answer(order)})
    except ElastreamError as wrong:
        _print({"refused": str(wrong)})
    except Exception as wrong:
        _print({"refused": f"it cannot be simulated: {spell_error(wrong)}"})
    sys.stdout.flush()
    # The thread still waits for stdin.
    os._exit(0)


if __name__ == "__main__":
    main()
