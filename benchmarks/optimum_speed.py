"""How long the bound on the cost of a schedule takes, and a plan: six hours and a day, on both engines.

    python -m benchmarks.optimum_speed

Batches of 10 s in slices of the SLO (half a second over six hours, more over a day); a continuous job in steps of 10 s,
and of 15 s over a day.
"""

import time

from benchmarks.machine import machine
from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.optimum.bounds import find_lower, follow
from elastream.experiments.optimum.job import find_jobs
from elastream.experiments.simulated import build_model, find_capacity, set_up_simulation

HOURS = (6, 24)
PROMISES = {"enrich": 30.0, "daedalus-wordcount": 60.0}


def main() -> None:
    """A line per engine and length."""
    print(machine())
    for model, bound_s in PROMISES.items():
        bounds = ExecutorBounds(min=1, max=16, start=1)
        peak_rps = 0.6 * find_capacity(build_model(SimulatedModel(model=model), bounds))
        for hours in HOURS:
            load = f"cosine({0.1 * peak_rps:.0f}..{peak_rps:.0f}, period=6h, noise={0.05 * peak_rps:.0f})"
            experiment = Experiment(
                subject=SimulatedModel(model=model), workload=load, duration_s=3600.0 * hours,
                policy=parse_policy("fixed"), executors=bounds, slo=Slo(delay_s=bound_s),
            )  # fmt: skip
            [job] = find_jobs(set_up_simulation(experiment))
            began_s = time.process_time()
            lower_s, price_s = find_lower(job)
            bounded_s = time.process_time()
            plan = follow(job, 4 * price_s)
            planned_s = time.process_time()
            print(
                f"{model:20} {hours:3} h {job.moments:7,} moments {job.levels:4} levels {len(job.problem.workers):3} "
                f"sizes: bound {bounded_s - began_s:5.1f} s, plan {planned_s - bounded_s:5.1f} s of a processor; "
                f"{lower_s / 3600:.1f} and {plan.cost_s / 3600:.1f} worker-hours",
                flush=True,
            )


if __name__ == "__main__":
    main()
