"""What is looked for, as the plan says it or as a command overrides it."""

from __future__ import annotations

from dataclasses import replace

from elastream.core.errors import BadInput, suggestion
from elastream.experiments.plan.document import MOST_TRIALS, Search
from elastream.experiments.plan.reader import Plan

WAYS = ("grid", "random", "optuna")


def require_search(plan: Plan) -> Search:
    """What a plan looks for; BadInput if it looks for nothing."""
    if plan.document.search is None:
        remedy = "write `search: {settings: {POLICY: {SETTING: 10s..120s}}}`"
        raise BadInput(f"{plan.path}: search: this key is missing; {remedy}")
    return plan.document.search


def choose_search(plan: Plan, *, by: str | None = None, trials: int | None = None) -> Plan:
    """The plan with another way to search."""
    search = require_search(plan)
    if by is not None and by not in WAYS:
        raise BadInput(f"--search {by}: it is one of {', '.join(WAYS)}{suggestion(by, WAYS)}")
    if trials is not None and not 2 <= trials <= MOST_TRIALS:
        raise BadInput(f"--trials {trials}: it must be from 2, the plan's own settings and others, to {MOST_TRIALS:,}")
    given = {"by": by, "trials": trials}
    changes = {name: value for name, value in given.items() if value is not None}
    document = plan.document.model_copy(update={"search": search.model_copy(update=changes)})
    written = plan.content["search"]
    assert isinstance(written, dict)
    return replace(plan, document=document, content={**plan.content, "search": {**written, **changes}})
