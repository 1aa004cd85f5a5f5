"""A folder of runs with numbers that are easy to reckon with."""

import json
from hashlib import sha256
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.experiments.named_settings import parse_policy
from elastream.experiments.store.environment import find_environment
from elastream.experiments.store.folder import PLAN, RUNS, write_stored
from elastream.experiments.store.identity import EXPERIMENT_DIGITS, Identity, name_code
from elastream.experiments.store.tables import DECISIONS, TICKS, make_summary

PROMISE = {"delay_s": 60.0, "share": 0.99}


def store_run(
    folder: Path,
    policy: str,
    workload: str,
    seed: int,
    *,
    cost: float,
    kept: float | None = 1.0,
    error: str | None = None,
    ready: int = 4,
    code: str | None = None,
    slow: float = 1.0,
    needs: bool = True,
) -> Identity:
    """A run of twenty ticks, in which 4, 6 and then 3 workers would have been needed, if that is known."""
    digits = sha256(f"{policy} {workload} {seed}".encode()).hexdigest()[:EXPERIMENT_DIGITS]
    identity = Identity(digits, code or name_code("simulator", parse_policy(policy).name, []))
    labels = {"model": "enrich", "workload": workload, "policy": policy}
    numbers: dict[str, object] = {"error": error}
    if error is None:
        numbers = {
            "worker_hours_paid": cost,
            "records_within_slo": kept,
            "slo_kept": None if kept is None else kept >= 0.99,
            "delay_p50_s": 0.5 * cost,
            "delay_p95_s": 10.0 * cost * slow,
            "delay_p99_s": 12.0 * cost,
            "delay_max_s": 20.0 * cost,
        }
    row = {"experiment": identity.experiment, "code": identity.code, "seed": seed, **labels, **numbers}
    needed = [4] * 8 + [6] * 6 + [3] * 6
    ticks = [
        {
            "t_s": 5.0 * n,
            "offered_rps": 100.0 * one,
            "arrived_rps": 100.0 * one,
            "committed_rps": 100.0 * min(one, ready),
            "backlog": 50.0 * max(0, one - ready),
            "delay_p95_s": 2.0 + max(0, one - ready),
            "wanted": ready,
            "ready": ready,
            "demand": one if needs else None,
            "within_slo": one <= ready,
        }
        for n, one in enumerate(needed)
    ]
    decisions = [
        {
            "t_s": 40.0,
            "kind": "scale",
            "workers_before": ready,
            "workers_after": ready + 1,
            "proposed": ready + 1,
            "reason": "more arrives <b>than</b> four can do",
            "adjustments": [],
        }
    ]
    call = parse_policy(policy)
    what = {
        "seed": seed,
        "subject": {"model": "enrich"},
        "slo": None if kept is None else PROMISE,
        "policy": {"name": call.name, "settings_text": call.settings},
    }
    document: dict[str, object] = {
        "plan": "sample", "labels": labels, "code_files": [], "least_size": False,
        "what": what,
    }  # fmt: skip
    tables = {"summary": make_summary(row)}
    if error is None:
        tables["ticks"] = pa.Table.from_pylist(ticks, schema=TICKS)
        tables["decisions"] = pa.Table.from_pylist(decisions, schema=DECISIONS)
    write_stored(folder / RUNS / str(identity), document, {**find_environment(), "seed": seed}, tables)
    return identity


def store_plan(folder: Path, **keys: object) -> None:
    """The plan that the runs belong to."""
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    plan = {"about": "Which one?", **keys}
    (folder / PLAN).write_text(f"# sample\n{json.dumps(plan)}\n", encoding="utf-8")


def sample(folder: Path) -> Path:
    """Three policies and two fixed sizes under two loads, twice: `ds2` is cheapest of those that keep the promise."""
    store_plan(
        folder, exclude=[{"where": {"policy": ["hpa"], "workload": ["night"]}, "why": "it has no processor use"}]
    )
    for seed in (0, 1):
        for load, more in (("wave", 0.0), ("spike", 2.0)):
            noise = 0.1 * seed
            store_run(folder, "ds2", load, seed, cost=5 + more + noise, kept=0.995, ready=5)
            store_run(folder, "threshold", load, seed, cost=9 + more + 1.5 * noise, kept=0.9999, ready=6)
            store_run(folder, "dhalion", load, seed, cost=3 + more + noise, kept=0.5, ready=3)
            store_run(folder, "fixed(workers=4)", load, seed, cost=4.0, kept=0.6)
            store_run(folder, "fixed(workers=12)", load, seed, cost=12.0, kept=1.0, ready=12)
    return folder
