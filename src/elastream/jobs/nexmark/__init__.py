"""Nexmark's queries over online auctions, as far as Structured Streaming has words for them.

Published with them are SQL texts and a generator; `nexmark-qN` is query N with the published constants. A thesis on
autoscaling (Kanis) has six of them with other constants and without hot keys: `nexmark-qN-kanis`. Its query 11 gives
out a session early after every 100,000 bids, which an append query cannot: there a session comes out once, when it is
over.

Not here, and why:

- 0: every bid as it is; the job `pass` is that.
- 4, 6, 9: the winning bid of an auction is known when the auction expires, at a time of its own; a range join can wait
  for that, but the average over all winners needs results that are taken back when a better bid comes.
- 7: ties for the highest bid of a window need all bids of the window again: a join of the stream with its own maximum,
  for which Spark reads the source twice.
- 10, 13: files by the minute and a join with a table that does not change are sinks and lookups, not other streaming.
- 12: windows of processing time; no two runs have the same answer.
- 15, 16: exact distinct counts, of which Spark has none over a stream.
- 17, 18: running totals and the newest bid per key: Spark could, in update mode, with state that grows for good.
- 19: the ten highest need a rank over a stream, which Spark has not.
- 23: three streams joined without a bound in time: queries 3 and 20 in one.
"""

from elastream.jobs.nexmark import q1 as q1
from elastream.jobs.nexmark import q2 as q2
from elastream.jobs.nexmark import q3 as q3
from elastream.jobs.nexmark import q5 as q5
from elastream.jobs.nexmark import q8 as q8
from elastream.jobs.nexmark import q11 as q11
from elastream.jobs.nexmark import q14 as q14
from elastream.jobs.nexmark import q20 as q20
from elastream.jobs.nexmark import q21 as q21
from elastream.jobs.nexmark import q22 as q22
