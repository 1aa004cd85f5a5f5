"""Forecasts of load. `forecaster` builds one by name."""

from typing import Literal, TypeAlias

from elastream.estimators.forecasting.arima import Arima
from elastream.estimators.forecasting.checked import Forecaster
from elastream.estimators.forecasting.hedge import Hedge

ForecasterName: TypeAlias = Literal["hedge", "arima"]
"""hedge: small models, cheap, the default. arima: as Daedalus was published with, needs an extra."""


def forecaster(name: ForecasterName, *, horizon_s: float) -> Forecaster:
    """The forecaster of that name; raises BadInput if what it needs is not installed."""
    return Arima(horizon_s=horizon_s) if name == "arima" else Hedge(horizon_s=horizon_s)
