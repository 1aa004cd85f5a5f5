"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.completion import complete_guards

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A YAML file with settings.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of `elastream config`; may be repeated."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A Spark property; may be repeated."),
]
PageToken = Annotated[
    Path | None,
    typer.Option(
        "--page-token",
        metavar="FILE",
        help="Serve the page, and let whoever has the token in this file control the run there; made if there is none.",
    ),
]
OwnConf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting as Spark property: spark.elastream.KEY; may be repeated."
    ),
]
Redaction = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="spark.redaction.regex=PATTERN hides more than was hidden when the journal was written.",
    ),
]
GuardTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--guard",
        metavar="NAME(KEY=VALUE)",
        help="A guard around the policy (see `elastream guards`); may be repeated.",
        autocompletion=complete_guards,
    ),
]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT|FOLDER",
        help="The broker, several with commas between, or the folder of one; without it, that of `elastream kafka up`.",
        show_default=False,
    ),
]
FromTopics = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="TOPIC|STREAM=TOPIC",
        help="Read events from this topic and make none; of a job with several streams, one for each.",
    ),
]
ToTopic = Annotated[
    str | None,
    typer.Option("--to", metavar="TOPIC", help="Write results to this topic, as JSON, and compare them there."),
]
RejectedTopic = Annotated[
    str | None,
    typer.Option("--rejected", metavar="TOPIC", help="Write messages that are no events of the job to this topic."),
]
AheadLimit = Annotated[
    str | None,
    typer.Option(
        "--ahead",
        metavar="DURATION",
        help="Leave out messages whose event time is further than this ahead of their timestamp. Default: 60s.",
    ),
]
CreateTopics = Annotated[
    bool, typer.Option("--create", help="Create the topics of --to and --rejected if there are none.")
]
LogFormat = Annotated[
    str | None,
    typer.Option("--log", metavar="text|json", help="How decisions are told; json: a line each, with stable keys."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, to stdout.")]
