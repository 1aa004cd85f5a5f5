"""Nexmark's queries over online auctions.

Published with them are SQL texts and a generator; `nexmark-qN` is query N with the published constants. A thesis on
autoscaling (Kanis) has six of them with other constants, without hot keys and with ten bids for a person instead of 46:
`nexmark-qN-kanis`. Its query 11 gives out a session early after every 100,000 bids, which an append query cannot: there
a session comes out once, when it is over.

Where Spark says less than the published text, or that text leaves open which rows are right, the job says so.
"""

from elastream.jobs.nexmark import q0 as q0
from elastream.jobs.nexmark import q1 as q1
from elastream.jobs.nexmark import q2 as q2
from elastream.jobs.nexmark import q3 as q3
from elastream.jobs.nexmark import q4 as q4
from elastream.jobs.nexmark import q5 as q5
from elastream.jobs.nexmark import q6 as q6
from elastream.jobs.nexmark import q7 as q7
from elastream.jobs.nexmark import q8 as q8
from elastream.jobs.nexmark import q9 as q9
from elastream.jobs.nexmark import q10 as q10
from elastream.jobs.nexmark import q11 as q11
from elastream.jobs.nexmark import q12 as q12
from elastream.jobs.nexmark import q13 as q13
from elastream.jobs.nexmark import q14 as q14
from elastream.jobs.nexmark import q15 as q15
from elastream.jobs.nexmark import q16 as q16
from elastream.jobs.nexmark import q17 as q17
from elastream.jobs.nexmark import q18 as q18
from elastream.jobs.nexmark import q19 as q19
from elastream.jobs.nexmark import q20 as q20
from elastream.jobs.nexmark import q21 as q21
from elastream.jobs.nexmark import q22 as q22
from elastream.jobs.nexmark import q23 as q23
