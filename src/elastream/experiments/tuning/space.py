"""Where settings are looked for, typed as the policy declares them, and the text of a policy that has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from elastream.core.callform import NAME, Call, Range, Value, parse_call, quoted
from elastream.core.errors import BadInput, suggestion
from elastream.core.quantity import NUMBER, Quantity
from elastream.experiments.experiment import NamedSettings
from elastream.experiments.plan.fields import SettingSpace
from elastream.experiments.plan.reader import Plan, PlanProblems
from elastream.experiments.tuning.search import require_search
from elastream.policies import policies
from elastream.registry.hints import hints, leaves
from elastream.registry.settings import field_named, read_settings, shown_name

DIGITS = 3
"""That are picked of a number: more would be copied and mean nothing."""
_PLAIN = re.compile(rf"{NAME}|-?{NUMBER}[A-Za-z%]*", re.ASCII)

Values = Mapping[str, str]
"""Setting -> value, as it is written."""


@dataclass(frozen=True, slots=True)
class SearchedSetting:
    """A setting that is looked for."""

    name: str
    space: SettingSpace
    is_whole: bool = False

    def pick(self, share: float) -> str:
        """The value at a share of the way from the first to the last one."""
        if self.space.ends is None:
            number = len(self.space.choices)
            return spell_value(self.space.choices[min(int(share * number), number - 1)])
        low, high = self.space.ends
        value = low.value + share * (high.value - low.value)
        # Rounded, so that the line that is copied is exactly what was run.
        value = float(round(value)) if self.is_whole else float(f"{value:.{DIGITS}g}")
        return str(Quantity(min(max(value, low.value), high.value), low.unit))

    def list_values(self, number: int) -> list[str]:
        """All choices, or so many values that lie evenly between the ends."""
        if self.space.ends is None:
            return [spell_value(choice) for choice in self.space.choices]
        picked = (self.pick(step / max(1, number - 1)) for step in range(number))
        return list(dict.fromkeys(picked))


def read_searched(plan: Plan) -> dict[str, list[SearchedSetting]]:
    """Label of a policy in the plan -> what is looked for; PlanProblems with file, line and key."""
    search, policy_axis = require_search(plan), plan.document.how.policy
    found: dict[str, list[SearchedSetting]] = {}
    for key, spaces in search.settings.items():
        labels = [label for label, policy in policy_axis.items() if key in (label, policy.name)]
        if not labels:
            known = [*policy_axis, *(one.name for one in policy_axis.values())]
            where = plan.place("search", "settings", key)
            raise PlanProblems([f"{where}: search.settings: how.policy has no {key!r}{suggestion(key, known)}"])
        for label in labels:
            found[label] = [_read(plan, key, policy_axis[label], name, space) for name, space in spaces.items()]
    return found


def write_policy(base: NamedSettings, values: Values) -> str:
    """The text of a policy with these settings, and those that it has in the plan."""
    cls, label = policies.get(base.name), f"policy {base.name}"
    written = [] if not base.written else parse_call(base.written, what="policy").arguments
    replaced = {field_named(cls, name, label) for name in values}
    kept = [
        _spell(one.value) if one.key is None else f"{one.key}={_spell(one.value)}"
        for one in written
        if one.key is None or field_named(cls, one.key, label) not in replaced
    ]
    told = ", ".join([*kept, *(f"{name}={value}" for name, value in values.items())])
    return f"{base.name}({told})" if told else base.name


def spell_value(value: str | int | float | bool) -> str:
    """As it stands in a call."""
    if isinstance(value, bool):
        return str(value).lower()
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if _PLAIN.fullmatch(text) else quoted(text)


def _spell(value: Value) -> str:
    if isinstance(value, Range):
        return f"{value.low}..{value.high}"
    if isinstance(value, Call):
        return value.name
    return str(value) if isinstance(value, Quantity) else spell_value(value)


def _read(plan: Plan, key: str, policy: NamedSettings, name: str, space: SettingSpace) -> SearchedSetting:
    cls, label = policies.get(policy.name), f"policy {policy.name}"
    try:
        field = field_named(cls, name, label)
        kinds = leaves(hints(cls)[field])
        if space.ends is not None and not kinds & {int, float}:
            raise BadInput(f"{label}: {name} has no values between others; list its choices")
        tried = [str(one) for one in space.ends] if space.ends is not None else space.choices
        for value in tried:
            read_settings(cls, {name: value}, label)
    except BadInput as wrong:
        place = plan.place("search", "settings", key, name)
        raise PlanProblems([f"{place}: search.settings: {wrong}"]) from None
    return SearchedSetting(shown_name(cls, field), space, is_whole=float not in kinds)
