"""Somebody else's PySpark script, unchanged, with the number of its executors in our hands.

    elastream run --executors 1..8 app.py its arguments

or through spark-submit, where settings are Spark's properties:

    spark-submit --master URL --conf spark.elastream.executors.max=8 "$(elastream launcher)" app.py its arguments

The script runs in this process as `python app.py` would run it: same `__main__`, arguments, output, signals and exit
code. Its sessions are set up and followed because a few methods of pyspark are wrapped before it begins
(`sessions.py`). What it sets itself stays; what the command line of `elastream run` says wins over it.

With `--deploy-mode cluster` the driver runs elsewhere: Elastream must be installed there, and `--files app.py` takes
the script along.
"""

from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")
"""The file that Python or spark-submit starts in place of the script."""
