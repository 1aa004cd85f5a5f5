"""Policies by name. One policy, one file; its first paragraph says where it comes from."""

import elastream.policies.ds2.presets  # noqa: F401 - registers them
from elastream.policies.amadeus import Amadeus
from elastream.policies.catalogue import policies, register_policy
from elastream.policies.daedalus.policy import Daedalus
from elastream.policies.dhalion.policy import Dhalion
from elastream.policies.ds2.policy import DS2
from elastream.policies.fixed import Fixed
from elastream.policies.flink_autoscaler.policy import FlinkAutoscaler
from elastream.policies.foresight.policy import Foresight
from elastream.policies.gesscale.policy import Gesscale
from elastream.policies.hpa.policy import Hpa
from elastream.policies.keda_lag import KedaLag
from elastream.policies.lag_proportional import LagProportional
from elastream.policies.lcp import Lcp
from elastream.policies.mdl_nlunaware import MdlNLUnaware
from elastream.policies.phoebe.policy import Phoebe
from elastream.policies.schedule import Schedule
from elastream.policies.spark_dra import SparkDra
from elastream.policies.spark_dstreams import SparkDstreams
from elastream.policies.thr_nlaware import ThrNLAware
from elastream.policies.thr_nlunaware import ThrNLUnaware
from elastream.policies.threshold import Threshold
from elastream.policies.varga import Varga

__all__ = [
    "DS2",
    "Amadeus",
    "Daedalus",
    "Dhalion",
    "Fixed",
    "FlinkAutoscaler",
    "Foresight",
    "Gesscale",
    "Hpa",
    "KedaLag",
    "LagProportional",
    "Lcp",
    "MdlNLUnaware",
    "Phoebe",
    "Schedule",
    "SparkDra",
    "SparkDstreams",
    "ThrNLAware",
    "ThrNLUnaware",
    "Threshold",
    "Varga",
    "policies",
    "register_policy",
]
