"""MDL-NLUnaware: Gesscale without network delays, a baseline of its document (Arkian et al., ICCCN 2021, section V-A).

The same loop with the simplest model, n workers take in alpha n (equation 2), calibrated on the newest measurement
alone, as in the public code. It names no worker: the platform chooses whom to add and whom to remove. The preset
`mdl-nlunaware-code` has 2 to 6 workers, waits 300 s after every change and wants to see an overload twice, as that code
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elastream.core.observation import Observation, Pool
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators.capacity import CapacityModel, Saturated, linear
from elastream.policies.catalogue import policies
from elastream.policies.gesscale.nodes import NodePlaces
from elastream.policies.gesscale.policy import Gesscale, Memory


@policies.register("mdl-nlunaware")
@dataclass(frozen=True, kw_only=True)
class MdlNLUnaware(Gesscale):
    """Model-based scaling that knows nothing of network delay (baseline of Gesscale, ICCCN 2021)."""

    uses: ClassVar[tuple[Signal, ...]] = ()

    def model(self, measured: list[Saturated]) -> CapacityModel | None:
        """Every worker adds the same."""
        return linear(measured[-1:])

    def places(self, pool: Pool, now: Observation) -> NodePlaces | None:
        """Never known."""
        return None


policies.preset(
    "mdl-nlunaware-code",
    of="mdl-nlunaware",
    doc="MDL-NLUnaware as its public code runs: 2 to 6 workers, waits 300 s after a change, sees overload twice",
    least=2,
    most=6,
    overloads=2,
    warm_up_s=300.0,
)

_: type[Policy[Memory]] = MdlNLUnaware
