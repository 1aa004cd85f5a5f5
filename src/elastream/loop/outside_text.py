"""What a platform, a policy and failures say, made fit before anything else has it.

Everything that tells of a tick, and every policy that puts the name of a query into its reason, then has text that may
be shown. Ids stay as they are: they are handed back to the platform.
"""

from dataclasses import replace

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Decision
from elastream.core.observation import Observation, Query, Source
from elastream.core.sanitizer import Sanitizer, sanitizer
from elastream.core.tick import Tick


def sanitize_observation(now: Observation) -> Observation:
    """A look, with names, errors and problems of its queries made fit."""
    fit = sanitizer()
    queries = tuple(_query(query, fit) for query in now.queries)
    lacks = {signal: fit.line(reason) for signal, reason in now.lacks.items()}
    troubles = tuple(map(fit.line, now.troubles))
    if (queries, lacks, troubles) == (now.queries, now.lacks, now.troubles):
        return now
    return replace(now, queries=queries, lacks=lacks, troubles=troubles)


def sanitize_tick(tick: Tick) -> Tick:
    """A tick, with every sentence in it made fit."""
    fit = sanitizer()
    return replace(
        tick,
        decision=None if tick.decision is None else _decision(tick.decision, fit),
        troubles=tuple(map(fit.line, tick.troubles)),
        bottlenecks=tuple(_bottleneck(one, fit) for one in tick.bottlenecks),
        interventions=tuple(replace(one, who=fit.line(one.who)) for one in tick.interventions),
    )


def _query(query: Query, fit: Sanitizer) -> Query:
    name, error = fit.line(query.name), None if query.error is None else fit.line(query.error)
    sources = tuple(_source(source, fit) for source in query.sources)
    if (name, error, sources) == (query.name, query.error, query.sources):
        return query
    return replace(query, name=name, error=error, sources=sources)


def _source(source: Source, fit: Sanitizer) -> Source:
    return source if source.problem is None else replace(source, problem=fit.line(source.problem))


def _decision(decision: Decision, fit: Sanitizer) -> Decision:
    return replace(
        decision,
        reason=fit.line(decision.reason),
        evidence=fit.data(decision.evidence),
        adjustments=tuple(replace(note, reason=fit.line(note.reason)) for note in decision.adjustments),
    )


def _bottleneck(one: Bottleneck, fit: Sanitizer) -> Bottleneck:
    return replace(one, sentence=fit.line(one.sentence))
