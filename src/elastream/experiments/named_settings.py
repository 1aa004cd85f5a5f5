"""What people write, as names with settings: `threshold(high=0.9)`, `worker-loss(at=10m)`, `wordcount(keys=500)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elastream.config import settings_of
from elastream.config.guards import build_guards
from elastream.core.callform import Call, Range, Value, parse_call
from elastream.core.errors import BadInput
from elastream.experiments.experiment import NamedSettings
from elastream.policies import policies
from elastream.registry.settings import field_named
from elastream.simulator.faults import faults


def parse_policy(text: str, base: Mapping[str, object] | None = None) -> NamedSettings:
    """`threshold(high=0.9)`. `base` are settings from elsewhere, which those in the text override."""
    call = parse_call(text, what="policy")
    if not base:
        built = policies.build_call(call)
    else:
        cls, label = policies.get(call.name), f"policy {call.name}"
        given = {**base, **read_arguments(call)}
        # By full names, so that `window` in one place overrides `window_s` in the other.
        built = policies.build(call.name, {field_named(cls, key, label): value for key, value in given.items()})
    return NamedSettings.of(call.name, settings_of(built), written="" if call.is_bare else " ".join(text.split()))


def parse_faults(texts: Sequence[str]) -> tuple[NamedSettings, ...]:
    """`worker-loss(at=10m)`."""
    built = [faults.build_call(parse_call(text, what="fault")) for text in texts]
    return tuple(
        NamedSettings.of(faults.name_of(fault), settings_of(fault), written=text)
        for fault, text in zip(built, texts, strict=True)
    )


def choose_guards(settings: Mapping[str, Mapping[str, object]]) -> tuple[NamedSettings, ...]:
    """Guards from name -> settings, as a configuration has them."""
    return tuple(NamedSettings.of(name, settings_of(guard)) for name, guard in build_guards(settings).items())


def read_arguments(call: Call) -> dict[str, object]:
    """The settings of a call that has only named ones."""
    unnamed = next((argument for argument in call.arguments if argument.key is None), None)
    if unnamed is not None:
        raise BadInput(f"{call.name}: column {unnamed.column}: a value without a name; write it as name=value")
    return {argument.key: _plain(argument.value) for argument in call.arguments if argument.key is not None}


def _plain(value: Value) -> object:
    if isinstance(value, Range):
        return [value.low, value.high]
    return value.name if isinstance(value, Call) else value
