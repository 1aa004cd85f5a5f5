"""Models by name: plausible ones to start with, and those of the jobs, which were measured from recorded runs."""

from pathlib import Path

from elastream.core.callform import parse_call
from elastream.core.errors import BadInput, UnknownName
from elastream.core.observation import Trigger
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.model_file import read_model
from elastream.simulator.model_settings import change_model
from elastream.simulator.published import PUBLISHED

# One slot does about 10,000 records/s through all stages: a JSON event, parsed, counted by key and written.
_PARSE = StageModel(name="parse", after=("events",), partitions=24, slot_s_per_record=50e-6)
_COUNT = StageModel(
    name="count", after=("parse",), partitions=24, slot_s_per_record=40e-6, records_out=0.2, stateful=True
)
_WRITE = StageModel(name="write", after=("count",), partitions=24, slot_s_per_record=50e-6)

_WINDOWED = QueryModel(
    name="windowed-count",
    sources=(SourceModel(name="events", partitions=24),),
    stages=(_PARSE, _COUNT, _WRITE),
    state=StateModel(bytes_per_record=2.0, max_bytes=400e6),
    # With Spark's default of 3 s, executors that come later get little work as long as tasks are shorter than that.
    locality_wait_s=0.1,
)

_STATELESS = QueryModel(
    name="enrich",
    sources=(SourceModel(name="events", partitions=24),),
    stages=(StageModel(name="enrich", after=("events",), partitions=24, slot_s_per_record=100e-6),),
)

_JOIN = QueryModel(
    name="stream-join",
    sources=(SourceModel(name="left", share=0.5, partitions=12), SourceModel(name="right", share=0.5, partitions=12)),
    stages=(
        StageModel(name="left-scan", after=("left",), partitions=12, slot_s_per_record=30e-6),
        StageModel(name="right-scan", after=("right",), partitions=12, slot_s_per_record=30e-6),
        StageModel(
            name="join",
            after=("left-scan", "right-scan"),
            partitions=24,
            slot_s_per_record=60e-6,
            records_out=0.5,
            stateful=True,
        ),
        StageModel(name="write", after=("join",), partitions=24, slot_s_per_record=20e-6),
    ),
    trigger=Trigger(interval_s=None),
    locality_wait_s=0.1,
    state=StateModel(bytes_per_record=20.0, max_bytes=800e6),
)

MODELS: dict[str, ApplicationModel] = {
    model.name: model
    for model in (
        ApplicationModel(
            name="windowed-count",
            queries=(_WINDOWED,),
            doc="parse, count by key and window, write; 10 s trigger; about 10,000 records/s per slot",
        ),
        ApplicationModel(
            name="enrich",
            queries=(_STATELESS,),
            doc="one stateless stage; 10 s trigger; about 10,000 records/s per slot",
        ),
        ApplicationModel(
            name="stream-join",
            queries=(_JOIN,),
            doc="two streams joined, as fast as possible; about 10,000 records/s per slot",
        ),
        ApplicationModel(
            name="two-queries",
            queries=(_WINDOWED, _STATELESS),
            doc="windowed-count and enrich in one application, sharing its executors",
        ),
    )
}


def model(name: str) -> ApplicationModel:
    """The micro-batch model of that name."""
    if name not in MODELS:
        raise UnknownName("unknown model", name, MODELS)
    return MODELS[name]


def measured_jobs() -> dict[str, Path]:
    """Files of `elastream calibrate`, by the name of the job."""
    return {file.stem: file for file in sorted((Path(__file__).parent / "measured_jobs").glob("*.yaml"))}


def any_model(name: str) -> ApplicationModel | DataflowModel:
    """The model of that name, of either engine; with settings, as `heron-wordcount(count-hot_share=50%)`."""
    if "(" in name:
        call = parse_call(name, what="model")
        found = any_model(call.name)
        if not isinstance(found, DataflowModel):
            raise BadInput(f"model {call.name} runs micro-batches and takes no settings; describe yours in a YAML file")
        return change_model(found, call, name)
    if name in PUBLISHED:
        return PUBLISHED[name]
    if name in MODELS:
        return MODELS[name]
    measured = measured_jobs()
    if name not in measured:
        raise UnknownName("unknown model", name, [*MODELS, *measured, *PUBLISHED])
    return read_model(measured[name])
