"""From the launcher's command line to the end of the script."""

import atexit
import importlib.util
import os
import sys
from collections.abc import Sequence

from elastream.core.errors import BadInput, ElastreamError
from elastream.core.module_search import search_here
from elastream.core.sanitizer import REDACTION, use_pattern
from elastream.development.cluster.driver import SUBMIT_ARGS
from elastream.launch.orders import LaunchOrders, read_orders
from elastream.launch.script import run_as_main
from elastream.launch.sessions import Sessions
from elastream.launch.setting_up import settings_for
from elastream.launch.telling import say, speak_json, take_over_warnings


def launch(arguments: Sequence[str]) -> None:
    """Run the script; what it raises, its exit code among it, is for Python to deal with as ever."""
    # The script may change its folder before a policy of its owner is asked for.
    search_here()
    try:
        orders = _checked(read_orders(arguments))
        use_pattern(orders.conf.get(REDACTION))
        if settings_for(orders.settings, orders.conf, orders.config).log.format == "json":
            speak_json()
    except ElastreamError as wrong:
        say(str(wrong))
        sys.exit(2 if isinstance(wrong, BadInput) else 1)

    take_over_warnings()
    sessions = Sessions(orders, say)
    sessions.install()
    # After the last thread of the script has ended, and after what it has registered itself.
    atexit.register(sessions.end)
    try:
        run_as_main(orders.script, orders.arguments)
    except Exception:
        # A script that makes something else of a refusal has no more to say than we had.
        if sessions.refused is None:
            raise
    if sessions.refused is not None:
        sys.exit(sessions.refused)


def _checked(orders: LaunchOrders) -> LaunchOrders:
    if importlib.util.find_spec("pyspark") is None:
        raise BadInput(
            "pyspark is not installed for this Python; use the one that the script runs with, or:"
            " pip install 'elastream[lab]'"
        )
    if (orders.properties or orders.cluster) and "PYSPARK_GATEWAY_PORT" in os.environ:
        raise BadInput("--properties-file: the driver's JVM runs already; give the file to spark-submit")
    if orders.properties and "--properties-file" in os.environ.get(SUBMIT_ARGS, ""):
        raise BadInput(f"--properties-file: {SUBMIT_ARGS} names another one; Spark reads one file only")
    if orders.kafka and "PYSPARK_GATEWAY_PORT" in os.environ:
        raise BadInput("--kafka: the driver's JVM runs already; give spark-submit the connector with --jars")
    if orders.kafka and "--jars" in os.environ.get(SUBMIT_ARGS, ""):
        raise BadInput(
            "--kafka: the --jars in PYSPARK_SUBMIT_ARGS would win; write them as --conf spark.jars=... instead"
        )
    return orders
