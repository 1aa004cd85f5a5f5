"""Where the settings of a command come from: its own options, `--set`, `--conf`, the environment and `--config`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from elastream.cli.parsing.texts import read_guards, read_seconds, require_one
from elastream.config import Resolution, resolve, set_arguments, spark_arguments
from elastream.config.sources import SPARK_PREFIX
from elastream.core.bounds import parse_bounds
from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.sanitizer import REDACTION, use_pattern
from elastream.experiments.experiment import NamedSettings
from elastream.experiments.named_settings import parse_policy, read_arguments


class SettingSources:
    """Asked once for a run, and once for every policy of it."""

    def __init__(
        self,
        flags: Mapping[str, object],
        config: Path | None,
        assignments: Sequence[str] | None,
        conf: Sequence[str] | None,
        *,
        defaults: Mapping[str, object] | None = None,
    ) -> None:
        self._flags = {**set_arguments(assignments or ()), **{key: v for key, v in flags.items() if v is not None}}
        self._conf = spark_arguments(conf or ())
        self._config = config
        self._defaults = defaults
        use_pattern(self._conf.get(REDACTION))
        for key in self._conf:
            if not key.startswith(SPARK_PREFIX) and key != REDACTION:
                raise BadInput(f"--conf {key}: only {SPARK_PREFIX}* and {REDACTION} have a meaning here; leave it out")

    def resolve(self, policy: str | None = None) -> Resolution:
        """Every setting and where it came from; `policy` wins over what was set elsewhere."""
        flags = self._flags if policy is None else {**self._flags, "policy": policy}
        return resolve(flags, self._conf, os.environ, self._config, defaults=self._defaults)

    def policy(self, text: str) -> NamedSettings:
        """A policy with the settings that were written for it elsewhere."""
        require_one(text)
        name = parse_call(text, what="policy").name
        return parse_policy(text, self.resolve(name).settings.policy_settings)


def hide_by(conf: Sequence[str] | None) -> None:
    """From now on hide what an application's pattern names, which a journal does not tell."""
    given = spark_arguments(conf or ())
    for key in given:
        if key != REDACTION:
            raise BadInput(f"--conf {key}: only {REDACTION} has a meaning here; leave it out")
        use_pattern(given[key])


def read_flags(
    *,
    policy: str | None = None,
    executors: str | None = None,
    slo: str | None = None,
    tick: str | None = None,
    guards: Sequence[str] | None = None,
) -> dict[str, object]:
    """Options that several commands have, as settings; what was not given is not among them."""
    flags: dict[str, object] = {}
    if policy is not None:
        require_one(policy)
        flags["policy"] = parse_policy(policy).name
        given = read_arguments(parse_call(policy, what="policy"))
        flags |= {f"policy_settings.{key}": value for key, value in given.items()}
    if executors is not None:
        flags["executors.min"], flags["executors.max"] = parse_bounds(executors, "--executors")
    if slo is not None:
        flags["slo.delay"] = read_seconds(slo, "--slo")
    if tick is not None:
        flags["tick_s"] = read_seconds(tick, "--tick")
    if guards:
        flags["guards"] = read_guards(guards)
    return flags
