"""A job of the catalogue whose streams are topics, to files and then to a topic; ends when all has been read."""

import json
import sys
from pathlib import Path

from elastream.development.kafka.jars import connector_jars
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import checked, sound, stream_options
from elastream.jobs.local import local_spark
from elastream.jobs.output import writer


def main() -> None:
    name, bootstrap, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    options, topics = json.loads(sys.argv[4]), json.loads(sys.argv[5])
    job, servers = jobs.build(name), {"kafka.bootstrap.servers": bootstrap}
    with local_spark(folder, slots=2, jars=connector_jars()) as spark:
        reading = {**servers, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "6000"}
        for sink, more in (("parquet", {}), ("kafka", {**servers, "topic": topics["out"]})):
            into = folder / sink
            into.mkdir()
            given = stream_options(job, options)
            inputs = {}
            for stream in job.streams:
                read = spark.readStream.format("kafka").options(**reading, subscribe=topics[stream.name]).load()
                inputs[stream.name] = checked(read, stream, given[stream.name])
            streams = sound(inputs)
            writing = writer(job.query(streams), job.result, sink, name=sink, folder=into, kafka=more)
            writing.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
