"""Time DS2 takes to decide on a graph of 1,000 operators (goal: 5 ms).

What is timed is all that DS2 does at the end of an interval: measuring true rates, the equations, and the decision.
"""

from benchmarks.machine import cpu_seconds, machine
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, OperatorWork, Pool, Query, Reading, Source
from elastream.core.topology import Edge, Operator, Topology
from elastream.policies.ds2.equations import TrueRates, required
from elastream.policies.ds2.memory import DS2Memory
from elastream.policies.ds2.policy import DS2

OPERATORS = 1_000
RUNS = 20
GOAL_MS = 5.0


def main() -> None:
    """Print milliseconds per decision."""
    print(machine())
    edges = layered(OPERATORS)
    rates = {f"o{n}": TrueRates(4, 400.0, 400.0) for n in range(1, OPERATORS)}
    pairs = [(edge.upstream, edge.downstream) for edge in edges]
    tell("the equations alone", lambda: required(pairs, {"o0": 900.0}, rates))
    for shared in (False, True):
        first, second = (look(at_s, edges, shared) for at_s in (0.0, 30.0))
        policy = DS2()
        before = policy.learn(policy.start(), first, None)
        pools = "one shared pool" if shared else "a pool per operator"
        tell(f"a decision, {pools}", lambda p=policy, m=before, now=second: decide(p, m, now))


def tell(what: str, work: object) -> None:
    """One line: median and the goal."""
    assert callable(work)

    def runs() -> None:
        for _ in range(RUNS):
            work()

    least, middle, most = (seconds / RUNS * 1e3 for seconds in cpu_seconds(runs))
    verdict = "met" if middle <= GOAL_MS else "MISSED"
    name = f"{OPERATORS} operators, {what}:"
    print(f"{name:45} {middle:6.2f} ms ({least:.2f} to {most:.2f})   goal {GOAL_MS:g} ms {verdict}")


def decide(policy: DS2, memory: DS2Memory, now: Observation) -> None:
    """The end of an interval."""
    decision = policy.decide(now, Knowledge(), policy.learn(memory, now, None))
    assert decision.kind == "set", decision.reason


def layered(operators: int) -> tuple[Edge, ...]:
    """Every operator feeds two of the next layer of ten."""
    edges = [Edge("o0", f"o{n}") for n in range(1, 11)]
    for n in range(11, operators):
        layer = (n - 1) // 10 * 10 + 1
        edges += [Edge(f"o{layer - 10 + (n - layer)}", f"o{n}")]
        if n % 2:
            edges += [Edge(f"o{layer - 10 + (n - layer + 1) % 10}", f"o{n}")]
    return tuple(edges)


def look(at_s: float, edges: tuple[Edge, ...], shared: bool) -> Observation:
    """An application in which every operator does a hundred records per second of useful time."""
    names = [f"o{n}" for n in range(OPERATORS)]
    pools = ("all",) if shared else tuple(names)
    operators = tuple(Operator(name=name, pool="all" if shared else name) for name in names)
    done = Reading(100.0 * at_s, at_s)
    # Half of what comes in goes out, or rates would grow without bound where layers fan out.
    given, busy = Reading(50.0 * at_s, at_s), Reading(at_s, at_s)
    work = tuple(OperatorWork(name=name, records_in=done, records_out=given, busy_s=busy) for name in names)
    query = Query(
        id="q", name="q", phase="running", topology=Topology(operators=operators, edges=edges),
        sources=(Source(name="log", arrived=Reading(900.0 * at_s, at_s), committed=done),), operators=work,
    )  # fmt: skip
    return Observation(
        at_s=at_s, utc_s=at_s, application="app", queries=(query,),
        pools=tuple(
            Pool(
                name=name, slots_per_worker=1, min_workers=1, max_workers=10_000,
                wanted=1, requested=1, ready=1, leaving=0,
            )
            for name in pools
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
