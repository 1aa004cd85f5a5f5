"""Plant faults, one at a time, and see that the named test turns red.

A capability is proven when its mutant dies. Every mutant is a small change of one file in a copy of the tree; the
named test must pass without it and fail with it. Add one for every capability you add.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("deploy", "docs", "src", "tests", "experiments", "tools", "pyproject.toml")

# Two processes: a planted fault is short work, and most machines have two cores to spare.
WORKERS = 2

PASSED, FAILED = 0, 1
DIED, SURVIVED, BROKEN, NOT_TRIED = "died", "SURVIVED", "BROKEN", "not tried"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A fault: what it is, where it is planted, and who must notice."""

    fault: str
    file: str
    before: str
    after: str
    test: str


MUTANTS = (
    Mutant(
        fault="a job that has just been stopped is as ready for another stop as any",
        file="src/elastream/policies/foresight/plan.py",
        before="kept += step_s / _UNFORESEEN_S *",
        after="kept += 0 *",
        test="tests/unit/policies/test_foresight_plan.py"
        "::test_while_what_waited_is_worked_off_a_change_that_nobody_foresaw_would_cost_more",
    ),
    Mutant(
        fault="a plan lets a continuous job fall behind for as long as nobody is late before its horizon",
        file="src/elastream/policies/foresight/plan.py",
        before="    if step is None:\n        return values\n",
        after="    if True or step is None:\n        return values\n",
        test="tests/unit/policies/test_foresight_plan.py::test_who_will_not_keep_up_has_a_stop_before_him",
    ),
    Mutant(
        fault="who is hopelessly behind stays as small as he is",
        file="src/elastream/policies/foresight/stream.py",
        before="    if age_s > _LOST * plant.bound_s:\n        return float(plant.sizes[-1])\n",
        after="",
        test="tests/unit/policies/test_foresight_plan.py"
        "::test_who_is_behind_and_falls_back_further_gets_what_keeps_up_or_all_there_is",
    ),
    Mutant(
        fault="a load that rises evenly is told by means of what has been",
        file="src/elastream/estimators/outlook.py",
        before="carried = 2 * once - again + slope * (number + 1) / 2",
        after="carried = once",
        test="tests/unit/estimators/test_outlook.py::test_a_steady_rise_is_carried_on",
    ),
    Mutant(
        fault="workers are too many where nobody knows how many were needed",
        file="src/elastream/experiments/report/drawn_run.py",
        before="judged = [None if b is None else a for",
        after="judged = [a for",
        test="tests/unit/experiments/test_report.py::test_where_nobody_knows_what_was_needed_no_worker_is_too_many",
    ),
    Mutant(
        fault="what a policy imports from its neighbours may change without its runs becoming stale",
        file="src/elastream/experiments/store/used_parts.py",
        before="wanted += [used for file in files_of(place) for used in _used(file)]",
        after="wanted += []",
        test="tests/unit/experiments/test_used_parts.py"
        "::test_a_policy_counts_for_whoever_imports_it_and_for_nobody_else",
    ),
    Mutant(
        fault="a recording is summed up again for every minute of it while it is read",
        file="src/elastream/render/page/feed.py",
        before="None if is_behind else self._tell_summary(self._header)",
        after="self._tell_summary(self._header)",
        test="tests/unit/service/test_feed.py::test_a_run_is_summed_up_once_what_waits_was_taken_in",
    ),
    Mutant(
        fault="the page's thread takes the interpreter while the loop is at the end of its tick",
        file="src/elastream/service/hub.py",
        before="FOLD_AFTER_S if isinstance(entry, Tick) else 0.0",
        after="0.0",
        test="tests/unit/service/test_hub.py"
        "::test_a_tick_is_folded_once_the_loop_no_longer_needs_the_interpreter_and_what_may_wait_hurries_it",
    ),
    Mutant(
        fault="a source that has fallen silent is said to be scraped too seldom",
        file="src/elastream/spark/observe/prometheus/background.py",
        before="(at_s - before_s < _SAME_S and subject in self._newest)",
        after="(at_s == before_s and subject in self._newest)",
        test="tests/unit/spark/test_prometheus.py::test_only_what_is_always_scraped_too_seldom_is_told_as_that",
    ),
    Mutant(
        fault="use of executors elsewhere that has grown old lacks nowhere",
        file="src/elastream/spark/observe/prometheus/executor_use.py",
        before="if at_s - one.at_s <= outside.max_age_s}",
        after="if one.at_s <= at_s}",
        test="tests/unit/spark/test_prometheus.py::test_what_has_grown_old_lacks_as_what_was_never_told",
    ),
    Mutant(
        fault="what is expected ends where it begins: at the moment it was said",
        file="src/elastream/render/page/client/ahead.js",
        before="right = Math.min(from + seconds, max);",
        after="right = Math.min(from + 1, max);",
        test="tests/browser/test_page.py::test_what_is_expected_is_drawn_over_the_time_that_it_is_for",
    ),
    Mutant(
        fault="a batch that cost next to nothing ends planning",
        file="src/elastream/estimators/batch_cost.py",
        before="max(_LEAST_S, min(",
        after="max(0.0, min(",
        test="tests/unit/test_batch_cost.py"
        "::test_a_batch_that_cost_next_to_nothing_is_weighed_as_one_that_cost_a_little",
    ),
    Mutant(
        fault="executors with another Python than the driver's are found out in the middle of a search",
        file="src/elastream/experiments/scalability/cluster_needs.py",
        before="if _short(python) != _short(answer.python):",
        after="if False:",
        test="tests/unit/experiments/scalability/test_cluster_needs.py::test_what_is_lacking_is_told_in_one_line",
    ),
    Mutant(
        fault="an overhead of which nothing is certain meets its goal",
        file="experiments/watching.py",
        before='"met" if within.high < GOAL',
        after='"met" if within.low < GOAL',
        test="tests/unit/experiments/test_watching.py"
        "::test_a_cost_above_it_misses_it_and_one_that_drowns_in_noise_is_inconclusive",
    ),
    Mutant(
        fault="with rare batches a rate is sustained after a few of them",
        file="src/elastream/experiments/scalability/asked.py",
        before="LEAST_BATCHES = 10",
        after="LEAST_BATCHES = 1",
        test="tests/unit/experiments/scalability/test_simulated_scaling.py"
        "::test_a_rate_is_sustained_for_ten_batches_at_least_and_the_first_line_says_so",
    ),
    Mutant(
        fault="a query that collects garbage, which more executors help, is told to be limited",
        file="src/elastream/core/bottleneck/verdict.py",
        before="return self.useful_slots is not None",
        after="return True",
        test="tests/unit/test_bottleneck_costs.py::test_only_slots_that_stand_free_while_tasks_wait_stop_growth",
    ),
    Mutant(
        fault="growth goes on though slots stand free while tasks wait for their place",
        file="src/elastream/core/bottleneck/costs.py",
        before="replace(found, useful_slots=max(map(count_kept_busy, spent.batches)))",
        after="found",
        test="tests/unit/test_bottleneck_costs.py"
        "::test_growth_goes_on_where_executors_may_help_and_stops_where_slots_stand_free",
    ),
    Mutant(
        fault="a collector that takes a tenth of the time is named as a bottleneck",
        file="src/elastream/core/bottleneck/costs.py",
        before="_COLLECTING = 0.3",
        after="_COLLECTING = 0.05",
        test="tests/unit/test_bottleneck_costs.py"
        "::test_healthy_batches_and_batches_of_which_nothing_was_told_have_no_name",
    ),
    Mutant(
        fault="tasks that wait for processors which others have taken are said to wait for something outside",
        file="src/elastream/core/bottleneck/costs.py",
        before="_FREE_HOST = 0.8",
        after="_FREE_HOST = 2.0",
        test="tests/unit/test_bottleneck_costs.py::test_tasks_that_compute_nothing_wait_for_something_outside",
    ),
    Mutant(
        fault="a driver that waits for its source is told to plan and commit",
        file="src/elastream/core/bottleneck/driver.py",
        before="if asking_s >= _MOST_OF_IT * driver_s:",
        after="if False:",
        test="tests/unit/test_bottleneck_costs.py::test_what_the_driver_does_while_no_task_runs_is_told_apart",
    ),
    Mutant(
        fault="tasks that wait because all slots are busy are said to wait beside free ones",
        file="src/elastream/spark/jvm/Ledger.java",
        before="running.size() >= slots ? -1 :",
        after="running.size() >= 1000 ? -1 :",
        test="tests/spark/test_events.py"
        "::test_tasks_that_wait_although_a_slot_is_free_are_told_and_those_that_wait_for_one_are_not",
    ),
    Mutant(
        fault="anybody's page can make a page's server simulate",
        file="src/elastream/service/what_if.py",
        before="        check_origin(request)\n",
        after="",
        test="tests/unit/service/test_what_if.py::test_a_page_of_somebody_else_cannot_make_us_compute",
    ),
    Mutant(
        fault="as many are simulated at a time as anybody asks for",
        file="src/elastream/service/what_if.py",
        before="        if self._process is not None:\n            raise RequestRefused(409, BUSY, 5.0)\n",
        after="",
        test="tests/unit/service/test_what_if.py::test_only_one_is_simulated_at_a_time_and_it_ends_with_who_asked",
    ),
    Mutant(
        fault="once somebody who asked has gone, nothing is simulated for anybody",
        file="src/elastream/service/what_if.py",
        before="            _end(process)\n            self._process = None\n",
        after="            _end(process)\n",
        test="tests/unit/service/test_what_if.py::test_only_one_is_simulated_at_a_time_and_it_ends_with_who_asked",
    ),
    Mutant(
        fault="a page can have any class imported and run",
        file="src/elastream/service/what_if.py",
        before="    if policy not in (None, FIXED, *POLICIES):",
        after="    if policy is None and low is None and high == 0:",
        test="tests/unit/service/test_what_if.py::test_nothing_but_what_is_offered_is_simulated",
    ),
    Mutant(
        fault="batches of what is simulated again begin anywhere between two looks",
        file="src/elastream/advice/advice.py",
        before="    if phase_s is not None:",
        after="    if False:",
        test="tests/unit/advice/test_advice.py::test_batches_begin_where_they_began_between_two_looks",
    ),
    Mutant(
        fault="the tenth file of a rolled event log is read before the second",
        file="src/elastream/spark/event_log/event_file.py",
        before="for _, file in sorted(rolled)]",
        after="for _, file in sorted(rolled, key=lambda one: one[1].name)]",
        test="tests/unit/spark/test_event_log.py::test_files_that_spark_rolled_are_read_in_their_order",
    ),
    Mutant(
        fault="what a batch reads has arrived only when it ends",
        file="src/elastream/spark/event_log/looks.py",
        before="    parts = list(begun.rows) if begun is not None else",
        after="    parts = [0.0] * len(committed) if begun is not None else",
        test="tests/unit/spark/test_event_log.py::test_what_a_batch_reads_has_arrived_when_it_is_planned",
    ),
    Mutant(
        fault="what might have been is told as if the simulator were never off",
        file="src/elastream/advice/estimate.py",
        before="wide = 1.0 + error if max(known) > min(known) else 1.0",
        after="wide = 1.0",
        test="tests/unit/advice/test_estimate.py::test_an_interval_holds_every_draw_and_the_error_around_the_middle",
    ),
    Mutant(
        fault="a class is imported because a journal names it",
        file="src/elastream/advice/advice.py",
        before='if name and (":" not in name or name in self._trusted):',
        after="if name:",
        test="tests/unit/advice/test_advice.py::test_a_class_of_others_is_not_imported_because_a_journal_names_it",
    ),
    Mutant(
        fault="a policy that may break the SLO is said to keep it for sure",
        file="src/elastream/advice/advice.py",
        before="return True if within.low >= self.slo.share",
        after="return True if within.value >= self.slo.share",
        test="tests/unit/advice/test_advice.py::test_what_is_kept_within_part_of_the_interval_is_kept_perhaps",
    ),
    Mutant(
        fault="what waited when a recording began is forgotten",
        file="src/elastream/advice/recorded_load.py",
        before="            return max(arrived.value - committed.value, 0.0)",
        after="            return 0.0",
        test="tests/unit/advice/test_advice.py"
        "::test_what_waited_when_a_recording_began_comes_first_and_what_began_anew_counts_on",
    ),
    Mutant(
        fault="who comes back to a page is told everything again",
        file="src/elastream/render/page/feed.py",
        before="if place is None or at > place]",
        after="if True]",
        test="tests/unit/service/test_feed.py::test_who_comes_back_is_told_what_came_since_and_nothing_twice",
    ),
    Mutant(
        fault="a viewer who does not read is kept, and what it lacks with it",
        file="src/elastream/service/hub.py",
        before="        self.viewers.discard(viewer)\n        viewer.is_slow = True\n",
        after="",
        test="tests/unit/service/test_hub.py::test_a_viewer_who_does_not_read_is_let_go_and_the_others_stay",
    ),
    Mutant(
        fault="what batches took stays told when their query has ended",
        file="src/elastream/service/metrics.py",
        before="        before, self._queries = self._queries, {}\n",
        after="        before = self._queries = dict(self._queries)\n",
        test="tests/unit/service/test_metrics.py::test_batches_of_a_query_are_forgotten_with_it",
    ),
    Mutant(
        fault="what Prometheus says is true when it was asked, and not when it was scraped",
        file="src/elastream/spark/observe/prometheus/questions.py",
        before="(end.utc_s - begin.utc_s), end.utc_s)",
        after="(end.utc_s - begin.utc_s), end.utc_s + 10)",
        test="tests/unit/spark/test_prometheus.py::test_a_counter_is_a_rate_that_is_true_when_it_was_scraped_last",
    ),
    Mutant(
        fault="where Prometheus is silent, what tasks tell stands in for what executors use",
        file="src/elastream/spark/observe/pool_tracker.py",
        before="if outside.cpu is not None and process is None and not self._emulated:",
        after="if name in (outside.cpu or {}) and process is None and not self._emulated:",
        test="tests/unit/spark/test_prometheus.py::test_where_prometheus_is_silent_what_tasks_tell_does_not_stand_in",
    ),
    Mutant(
        fault="a redirection takes the token of a Prometheus elsewhere",
        file="src/elastream/spark/observe/prometheus/client.py",
        before="            request.HTTPErrorProcessor(),\n",
        after="            request.HTTPErrorProcessor(), request.HTTPRedirectHandler(),\n",
        test="tests/unit/spark/test_prometheus_client.py::test_a_redirection_is_not_followed",
    ),
    Mutant(
        fault="a promise that burns fast wakes nobody",
        file="deploy/prometheus/elastream.rules.yml",
        before="rate(elastream_judged_records_total[5m])\n            > 14.4 *",
        after="rate(elastream_judged_records_total[5m])\n            > 1440 *",
        test="tests/prometheus/test_prometheus.py::"
        "test_promtool_finds_nothing_wrong_with_what_is_told_and_with_the_rules",
    ),
    Mutant(
        fault="a dashboard asks for a metric that nobody exports",
        file="deploy/grafana/fleet.json",
        before="sum(elastream_executors_ready{application",
        after="sum(elastream_executor_ready{application",
        test="tests/unit/test_deploy.py::test_a_query_asks_for_what_is_exported",
    ),
    Mutant(
        fault="what was scraped long ago is given out as if it were of now",
        file="src/elastream/spark/observe/prometheus/executor_use.py",
        before="Reading(one.value, one.at_s - ahead_s) for name, one in said.items()",
        after="Reading(one.value, one.at_s - ahead_s + 1000) for name, one in said.items()",
        test="tests/unit/spark/test_prometheus.py::test_executors_elsewhere_use_what_prometheus_says_on_our_clock",
    ),
    Mutant(
        fault="a decision that is only stated again fills the log for programs",
        file="src/elastream/journal/decision_lines.py",
        before="if decision.made_s is not None and decision.made_s != last.made_s:",
        after="if decision.made_s is not None:",
        test="tests/unit/journals/test_decision_lines.py::"
        "test_a_decision_has_a_line_when_it_is_made_and_none_when_it_is_stated_again",
    ),
    Mutant(
        fault="secrets stand in the lines for programs",
        file="src/elastream/journal/decision_lines.py",
        before="json.dumps(sanitizer().texts(record),",
        after="json.dumps(record,",
        test="tests/unit/journals/test_decision_lines.py::test_no_secret_is_told",
    ),
    Mutant(
        fault="two queries of one name spoil an answer to Prometheus",
        file="src/elastream/service/metrics.py",
        before="if query.name not in taken else",
        after="if taken is not None else",
        test="tests/unit/service/test_metrics.py::test_two_queries_of_one_name_have_series_of_their_own",
    ),
    Mutant(
        fault="rows over time are taken for what could be taken in",
        file="src/elastream/evaluation/present.py",
        before="        return None if rows and cost.doubt(rows) is not None else rows / interval_s\n",
        after="        return self._batches[-1].rows / interval_s\n",
        test="tests/unit/evaluation/test_present.py::"
        "test_capacity_is_what_fits_between_two_triggers_by_the_slope_of_what_batches_cost",
    ),
    Mutant(
        fault="a page of somebody else may ask for ours by another name",
        file="src/elastream/service/web.py",
        before="if not self._access.is_ours(host):",
        after="if not host:",
        test="tests/unit/service/test_server.py::test_a_name_that_is_not_ours_is_refused",
    ),
    Mutant(
        fault="a page of somebody else can post to ours",
        file="src/elastream/service/access.py",
        before="if urlsplit(origin).netloc.lower() != host.lower() or",
        after="if",
        test="tests/unit/service/test_control.py::test_what_another_site_can_make_a_browser_send_does_nothing",
    ),
    Mutant(
        fault="who has no session may act",
        file="src/elastream/service/access.py",
        before='raise RequestRefused(401, "who acts needs the token")',
        after="pass",
        test="tests/unit/service/test_control.py::test_what_another_site_can_make_a_browser_send_does_nothing",
    ),
    Mutant(
        fault="a cookie is worth something to whoever got hold of it",
        file="src/elastream/service/access.py",
        before=" and found.client == self.client(request)",
        after="",
        test="tests/unit/service/test_control.py::test_a_cookie_that_another_user_got_hold_of_is_worth_nothing",
    ),
    Mutant(
        fault="a session lasts for ever",
        file="src/elastream/service/access.py",
        before="self.clock() < found.ends_s and ",
        after="",
        test="tests/unit/service/test_control.py::test_a_session_ends_when_it_is_ended_and_by_itself",
    ),
    Mutant(
        fault="tokens can be guessed for ever",
        file="src/elastream/service/access.py",
        before="if len(wrong) >= MOST_WRONG:",
        after="if False:",
        test="tests/unit/service/test_control.py::test_who_guesses_waits_and_nobody_else_does",
    ),
    Mutant(
        fault="without a token the empty one is right",
        file="src/elastream/service/access.py",
        before="if self.token is not None and hmac.compare_digest(_hash(given), _hash(self.token)):",
        after='if hmac.compare_digest(_hash(given), _hash(self.token or "")):',
        test="tests/unit/service/test_control.py::test_without_a_token_nobody_can_act",
    ),
    Mutant(
        fault="other hosts look without the token",
        file="src/elastream/service/access.py",
        before="elif self.is_open and not self.has_session(request):",
        after="elif False:",
        test="tests/unit/service/test_control.py::test_whom_others_can_reach_shows_nothing_without_the_token",
    ),
    Mutant(
        fault="a form of another site is taken for an order",
        file="src/elastream/service/access.py",
        before='.strip().lower() != "application/json":',
        after='.strip().lower() == "":',
        test="tests/unit/service/test_control.py::test_what_another_site_can_make_a_browser_send_does_nothing",
    ),
    Mutant(
        fault="an order may be as long as anybody likes",
        file="src/elastream/service/access.py",
        before="if len(body) > BODY_BYTES:",
        after="if False:",
        test="tests/unit/service/test_control.py::test_a_body_that_is_none_is_refused",
    ),
    Mutant(
        fault="a page is shown to other hosts without a token",
        file="src/elastream/service/place.py",
        before="if is_open and self.token is None:",
        after="if False:",
        test="tests/unit/service/test_control.py::test_a_page_that_others_can_reach_needs_a_token",
    ),
    Mutant(
        fault="a token that others can read is believed",
        file="src/elastream/daemons/private_folder.py",
        before="        if found.st_mode & 0o077:\n",
        after="        if False:\n",
        test="tests/unit/service/test_control.py::test_a_token_that_others_could_read_is_refused",
    ),
    Mutant(
        fault="a pause that somebody asks for is forgotten in replay",
        file="src/elastream/loop/planner.py",
        before="    if mode is None:\n        return guards",
        after="    if True:\n        return guards",
        test="tests/unit/test_control.py::test_what_is_asked_holds_from_the_next_look_on_and_is_decided_the_same_in_replay",
    ),
    Mutant(
        fault="bounds that somebody asks for hold nothing",
        file="src/elastream/loop/control_desk.py",
        before="    if limits is not None:\n        pools = tuple",
        after="    if False:\n        pools = tuple",
        test="tests/unit/test_control.py::test_what_is_asked_holds_from_the_next_look_on_and_is_decided_the_same_in_replay",
    ),
    Mutant(
        fault="a size for a while is held for ever",
        file="src/elastream/loop/control_desk.py",
        before="self._standing = self._standing.at(utc_s)",
        after="pass",
        test="tests/unit/test_control.py::test_what_is_asked_holds_from_the_next_look_on_and_is_decided_the_same_in_replay",
    ),
    Mutant(
        fault="nobody can tell who asked for a change",
        file="src/elastream/loop/controller.py",
        before="interventions=interventions,",
        after="",
        test="tests/unit/test_control.py::test_who_asked_what_stands_in_the_journal_with_its_time",
    ),
    Mutant(
        fault="what came of an earlier change is told of a later one",
        file="src/elastream/journal/story.py",
        before="            before = set(_effects(self.first, self.changes))",
        after="            before = set[Effect]()",
        test="tests/unit/service/test_feed.py::test_a_change_tells_what_was_expected_of_it_and_what_came_of_it",
    ),
    Mutant(
        fault="what somebody asked is not told",
        file="src/elastream/journal/story.py",
        before="if tick.interventions:",
        after="if False:",
        test="tests/unit/service/test_feed.py::test_what_somebody_asked_is_a_line_of_its_own_and_stands_in_the_present",
    ),
    Mutant(
        fault="a band of what is expected is drawn where only a most is told",
        file="src/elastream/evaluation/predictions.py",
        before="return middle, low, _find(evidence, FORECAST) if high is None else high",
        after="return middle, low, high",
        test="tests/unit/service/test_feed.py::test_what_is_expected_to_arrive_is_told_with_its_band",
    ),
    Mutant(
        fault="idle connections keep out whoever comes to look",
        file="src/elastream/service/server.py",
        before="idle = next((one for one in self.there if one.is_idle), None)",
        after="idle = None",
        test="tests/unit/service/test_server.py::test_a_crowd_that_asks_for_nothing_keeps_nobody_out",
    ),
    Mutant(
        fault="who reads nothing stays, with all that waits for it",
        file="src/elastream/service/server.py",
        before="self._stalled = self.loop.call_later(READ_WITHIN_S, self.transport.abort)",
        after="pass",
        test="tests/unit/service/test_server.py::test_who_reads_nothing_is_let_go_with_all_that_waits_for_it",
    ),
    Mutant(
        fault="viewers without the token keep out who has it",
        file="src/elastream/service/hub.py",
        before="if not is_known or not others:",
        after="if True:",
        test="tests/unit/service/test_server.py::test_for_who_has_the_token_somebody_who_has_not_is_let_go",
    ),
    Mutant(
        fault="a long past is told with a gap",
        file="src/elastream/render/page/feed.py",
        before='yield FeedMessage("ticks", f"[{\',\'.join(row for _, row in some)}]", place)',
        after='yield FeedMessage("ticks", f"[{\',\'.join(row for _, row in some[1:])}]", place)',
        test="tests/unit/service/test_feed.py::test_a_long_past_is_told_in_pieces_without_a_gap",
    ),
    Mutant(
        fault="a history that cannot be read keeps a run from having a page",
        file="src/elastream/service/server.py",
        before="        except Exception as error:\n            # Anybody may",
        after="        except ZeroDivisionError as error:\n            # Anybody may",
        test="tests/unit/service/test_server.py::test_a_history_that_breaks_is_told_and_the_page_is_served",
    ),
    Mutant(
        fault="of a long recording most is left out",
        file="src/elastream/service/server.py",
        before="while self._thread.is_alive() and not self.hub.has_room:",
        after="while False:",
        test="tests/unit/test_cli_watch.py::test_a_long_recording_is_shown_whole",
    ),
    Mutant(
        fault="as many connections as anybody likes take open files of the driver",
        file="src/elastream/service/server.py",
        before="if len(self.there) >= MOST_CONNECTIONS and not self._make_room():",
        after="if False:",
        test="tests/unit/service/test_server.py::test_more_connections_than_are_allowed_are_turned_away",
    ),
    Mutant(
        fault="who asks for nothing may stay",
        file="src/elastream/service/server.py",
        before="        if self.cycle is None and not self.transport.is_closing():",
        after="        if self.cycle is not None and not self.transport.is_closing():",
        test="tests/unit/service/test_server.py::test_who_asks_for_nothing_is_let_go",
    ),
    Mutant(
        fault="a page that is open for weeks grows for weeks",
        file="src/elastream/render/page/feed.py",
        before="            self.series.trim(self._keep)\n",
        after="            pass\n",
        test="tests/unit/service/test_feed.py::test_what_is_kept_is_bounded_however_long_a_run_lasts",
    ),
    Mutant(
        fault="half a line of a journal is taken for a whole one",
        file="src/elastream/journal/follower.py",
        before='while (raw := file.readline(64 * _PIECE)).endswith(b"\\n"):',
        after="while raw := file.readline(64 * _PIECE):",
        test="tests/unit/journals/test_follower.py::test_half_a_line_is_waited_for",
    ),
    Mutant(
        fault="processes of a plan outlive the one that runs it",
        file="src/elastream/experiments/runner/runner.py",
        before="        os._exit(1)\n",
        after="",
        test="tests/unit/experiments/test_runner.py"
        "::test_processes_end_with_the_one_that_runs_the_plan_even_if_it_is_killed",
    ),
    Mutant(
        fault="the lower bound counts batches as if they began as late as they can",
        file="src/elastream/experiments/optimum/batches.py",
        before='if rounding == "down" else (here[1], there[0])',
        after='if rounding == "up" else (here[1], there[0])',
        test="tests/unit/experiments/test_optimum.py"
        "::test_whenever_a_batch_really_begins_the_next_one_begins_between_both_roundings",
    ),
    Mutant(
        fault="late records that may be are paid for in the lower bound",
        file="src/elastream/experiments/optimum/bounds.py",
        before=" - prices * job.problem.may_be_late",
        after="",
        test="tests/unit/experiments/test_optimum.py::test_the_best_of_all_schedules_lies_between_both_bounds",
    ),
    Mutant(
        fault="a change costs a continuous job no time in a plan",
        file="src/elastream/experiments/optimum/stream.py",
        before="works = 0.0 if times[place] <= go_s else rate_rps",
        after="works = rate_rps",
        test="tests/unit/experiments/test_optimum.py::test_the_best_of_all_schedules_lies_between_both_bounds",
    ),
    Mutant(
        fault="workers of a plan are asked for when they should be there",
        file="src/elastream/experiments/optimum/optimum.py",
        before="_most(plan, now_s, now_s + tick_s + ahead_s)",
        after="_most(plan, now_s, now_s + tick_s)",
        test="tests/unit/experiments/test_optimum.py::test_workers_are_asked_for_in_time_and_kept_until_the_look_after",
    ),
    Mutant(
        fault="a bound that is not known is told as 0",
        file="src/elastream/experiments/optimum/optimum.py",
        before="if paid_hours is not None and replayed else None",
        after="if paid_hours is not None and replayed else 0.0",
        test="tests/unit/experiments/test_optimum.py::test_where_it_is_not_known_nothing_is_told_and_never_zero",
    ),
    Mutant(
        fault="jobs keep the state of a join in four stores",
        file="src/elastream/jobs/settings.py",
        before='            "spark.sql.streaming.join.stateFormatVersion",\n            "3",\n',
        after='            "spark.sql.streaming.join.stateFormatVersion",\n            "2",\n',
        test="tests/jobs/test_answers.py"
        "::test_with_the_settings_of_jobs_a_join_has_one_store_and_right_rows_after_a_restart",
    ),
    Mutant(
        fault="the smallest bound that is kept is that of the records that were committed",
        file="src/elastream/experiments/plan/checks.py",
        before="if least_s is not None and not _keeps(",
        after="if least_s is None and not _keeps(",
        test="tests/unit/experiments/test_plans.py"
        "::test_of_a_load_that_is_too_much_no_bound_is_named_that_would_not_be_kept",
    ),
    Mutant(
        fault="recorded loads are given away without anybody saying so",
        file="src/elastream/experiments/bundle/packing.py",
        before="if file.suffix in MODELS or any(",
        after="if True or any(",
        test="tests/unit/experiments/test_bundle.py"
        "::test_a_recorded_load_is_packed_only_where_somebody_says_that_it_may_be",
    ),
    Mutant(
        fault="an archive is right whatever values it gives here",
        file="src/elastream/experiments/bundle/check.py",
        before="            if not left[column].equals(right[column]):\n",
        after="            if False:\n",
        test="tests/unit/experiments/test_bundle.py::test_values_that_differ_are_told_with_table_column_and_row",
    ),
    Mutant(
        fault="archives remember when they were made",
        file="src/elastream/experiments/bundle/archive.py",
        before='entry = zipfile.ZipInfo(f"{name}/{member}", EPOCH)',
        after='entry = zipfile.ZipInfo(f"{name}/{member}", (1980, 1, 1 + file.stem.count("t"), 0, 0, 0))',
        test="tests/unit/experiments/test_bundle.py"
        "::test_the_same_content_is_the_same_bytes_and_names_no_folder_of_this_machine",
    ),
    Mutant(
        fault="an archive may write beside its folder",
        file="src/elastream/experiments/bundle/archive.py",
        before='return name.is_absolute() or ".." in name.parts or',
        after="return",
        test="tests/unit/experiments/test_bundle.py::test_an_archive_writes_nothing_outside_of_its_folder",
    ),
    Mutant(
        fault="times of topics are read by another grammar than Spark's",
        file="src/elastream/jobs/json_rows.py",
        before="        return parse_time_us(value)\n",
        after="        import datetime as d\n        return int(d.datetime.fromisoformat(value).timestamp() * 1e6)\n",
        test="tests/unit/test_json_rows.py::test_a_value_of_another_type_is_none",
    ),
    Mutant(
        fault="a number beyond all numbers ends the reading of a topic",
        file="src/elastream/jobs/json_rows.py",
        before="    if isinstance(value, float) and math.isinf(value):\n",
        after="    if False:\n",
        test="tests/unit/test_json_rows.py::test_a_number_that_is_too_large_is_text_as_java_has_it",
    ),
    Mutant(
        fault="a fault that comes again comes once",
        file="src/elastream/simulator/faults.py",
        before="            for number in range(times)\n",
        after="            for number in range(1)\n",
        test="tests/unit/simulator/test_microbatch.py::test_a_fault_comes_again_and_again_within_a_run",
    ),
    Mutant(
        fault="the largest task is as large as it will be from the first moment of its drift on",
        file="src/elastream/simulator/faults.py",
        before="(min(1.0, (now_s - self.at_s) / self.for_s) if self.for_s else 1.0)",
        after="1.0",
        test="tests/unit/simulator/test_microbatch.py::test_the_largest_task_drifts_and_then_stays_as_large",
    ),
    Mutant(
        fault="workers that hinder each other do as much as others",
        file="src/elastream/simulator/microbatch/model.py",
        before="1.0 + self.crosstalk * slots * (slots - 1)",
        after="1.0 + 0 * self.crosstalk * slots",
        test="tests/unit/simulator/test_microbatch.py::test_workers_that_hinder_each_other_do_less_from_some_size_on",
    ),
    Mutant(
        fault="what is left out of foresight stays in it",
        file="src/elastream/policies/foresight/choice.py",
        before='    if taste.without == "spread":\n',
        after="    if False:\n",
        test="tests/unit/policies/test_foresight_parts.py::test_without_spread_one_load_is_planned_for",
    ),
    Mutant(
        fault="a policy is better that is cheaper and keeps less",
        file="experiments/foresight/verdict.py",
        before="if row.hours < our.hours and row.share > our.share]",
        after="if row.hours < our.hours]",
        test="tests/unit/experiments/test_foresight_evidence.py"
        "::test_somebody_else_is_better_only_with_more_in_time_for_less",
    ),
    Mutant(
        fault="cost at a share is that of the next setting that has it",
        file="experiments/foresight/verdict.py",
        before="    return min([*crossings, *found])",
        after="    return min(found)",
        test="tests/unit/experiments/test_foresight_evidence.py"
        "::test_cost_at_a_share_lies_between_neighbours_of_a_knob",
    ),
    Mutant(
        fault="settings are chosen on loads that were held out, too",
        file="src/elastream/experiments/tuning/result.py",
        before="best = find_best(tried, lambda one: one.score(fold.tuned))",
        after="best = find_best(tried, lambda one: one.score(fold.tuned + fold.held_out))",
        test="tests/unit/experiments/test_tuning.py::test_each_part_is_scored_by_what_was_chosen_on_the_others",
    ),
    Mutant(
        fault="two cuts of one recording stand on either side of a search",
        file="src/elastream/experiments/tuning/folds.py",
        before="found[named or ",
        after="found[label or named or ",
        test="tests/unit/experiments/test_tuning.py::test_loads_of_one_recording_are_never_parted",
    ),
    Mutant(
        fault="the cheapest settings are best, whatever they break",
        file="src/elastream/experiments/tuning/score.py",
        before="return self.runs - self.kept, math",
        after="return 0 * self.kept, 0 * math",
        test="tests/unit/experiments/test_tuning.py"
        "::test_the_cheapest_settings_that_keep_the_promise_on_the_loads_that_are_tuned_on_are_chosen",
    ),
    Mutant(
        fault="an optimiser is told nothing of what its settings came to",
        file="src/elastream/experiments/tuning/sampler.py",
        before="            self._study.tell(trial, badness)\n",
        after="            self._study.tell(trial, 0.0)\n",
        test="tests/unit/experiments/test_tuning.py"
        "::test_an_optimiser_goes_on_with_what_it_was_told_and_asks_the_same_again",
    ),
    Mutant(
        fault="the help writes a value behind a flag of a command in a group",
        file="src/elastream/cli/command_table.py",
        before="            one.cls = OneCommand\n",
        after="            pass\n",
        test="tests/unit/test_cli_help.py::test_a_flag_does_not_look_as_if_a_value_followed",
    ),
    Mutant(
        fault="what stands in for a signal is named and not explained",
        file="src/elastream/cli/commands/policies.py",
        before="for signal in (need.signal, *need.stand_ins)):",
        after="for signal in (need.signal,)):",
        test="tests/unit/test_cli_lists.py::test_a_policy_shows_its_settings_and_needs",
    ),
    Mutant(
        fault="what a policy departs in is one paragraph without an end",
        file="src/elastream/cli/commands/policies.py",
        before='for part in re.split(r"\\n\\s*\\n|\\n(?=\\s*- )", text)]',
        after='for part in text.split("\\n\\n")]',
        test="tests/unit/test_cli_lists.py::test_what_a_policy_departs_in_is_told_item_by_item",
    ),
    Mutant(
        fault="lazy capacity provisioning gives workers up as soon as they are not needed",
        file="src/elastream/policies/lcp.py",
        before="    down = costs - rises\n",
        after="    down = costs\n",
        test="tests/unit/policies/test_lcp.py::test_it_waits_until_giving_up_a_worker_has_paid_for_getting_it_back",
    ),
    Mutant(
        fault="a schedule keeps the name of its file and not its numbers",
        file="src/elastream/policies/schedule.py",
        before='            object.__setattr__(self, "file", None)\n',
        after="",
        test="tests/unit/policies/test_schedule.py::test_the_file_is_read_once_and_its_numbers_are_the_settings",
    ),
    Mutant(
        fault="a schedule that misses the promise does not say so",
        file="src/elastream/policies/schedule.py",
        before="if worst is None or worst[1].keeps(worst[0]):",
        after="if True:",
        test="tests/unit/policies/test_schedule.py::test_a_replay_that_misses_the_promise_says_so",
    ),
    Mutant(
        fault="a leap is smoothed like everything else",
        file="src/elastream/estimators/outlook.py",
        before="        if leaps:\n",
        after="        if False:\n",
        test="tests/unit/estimators/test_outlook.py::test_a_leap_is_believed_at_once_and_may_go_on",
    ),
    Mutant(
        fault="what a load was told wrong by is not remembered",
        file="src/elastream/estimators/outlook.py",
        before="self.rps * math.exp(ranked[place] +",
        after="self.rps * math.exp(0 * ranked[place] +",
        test="tests/unit/estimators/test_outlook.py::test_so_much_is_exceeded_about_as_often_as_was_said",
    ),
    Mutant(
        fault="foresight takes slots for as good as their number, however tasks fall into waves",
        file="src/elastream/policies/foresight/learning.py",
        before="return task_time_s(1.0, stages, slots) if stages else 1.0 / slots",
        after="return 1.0 / slots",
        test="tests/stories/test_foresight.py"
        "::test_sizes_that_need_as_many_waves_of_tasks_as_smaller_ones_are_not_asked_for",
    ),
    Mutant(
        fault="foresight shrinks while what waits is worked off",
        file="src/elastream/policies/foresight/batches.py",
        before="may_shrink = keeps_up & settled & is_proven & (pool.ready >= pool.wanted)",
        after="may_shrink = keeps_up & is_proven",
        test="tests/stories/test_foresight.py"
        "::test_a_job_whose_batches_scatter_keeps_its_promise_under_a_load_that_moves",
    ),
    Mutant(
        fault="foresight tries a size again that was too small for the very same load",
        file="src/elastream/policies/foresight/batches.py",
        before="keeps_up & settled & is_proven &",
        after="keeps_up & settled &",
        test="tests/stories/test_foresight.py::test_batches_that_scatter_are_no_reason_to_go_up_and_down[900k]",
    ),
    Mutant(
        fault="a plan shrinks to sizes that will not keep up",
        file="src/elastream/policies/foresight/plan.py",
        before="np.where(may_shrink, prices.change, _NEVER)",
        after="np.where(True | may_shrink, prices.change, _NEVER)",
        test="tests/unit/policies/test_foresight_plan.py::test_what_will_not_keep_up_is_not_shrunk_to_however_cheap",
    ),
    Mutant(
        fault="executors that are asked for work in the same step",
        file="src/elastream/policies/foresight/plan.py",
        before="stay.cost(_least_above(values + (paid + prices.change)))",
        after="_least_above(stay.cost(values) + paid + prices.change)",
        test="tests/unit/policies/test_foresight_plan.py::test_no_path_of_sizes_is_cheaper_than_the_plan",
    ),
    Mutant(
        fault="a stop of a continuous job makes nobody wait",
        file="src/elastream/policies/foresight/plant.py",
        before="top_s = age_s + stop_s",
        after="top_s = age_s",
        test="tests/unit/policies/test_foresight_plant.py"
        "::test_a_change_stops_a_stream_and_what_waited_meanwhile_is_caught_up_with",
    ),
    Mutant(
        fault="records that were late make foresight no more careful",
        file="src/elastream/policies/foresight/learning.py",
        before="(_SPENT - left) / _PLENTY",
        after="0 * (_SPENT - left) / _PLENTY",
        test="tests/unit/policies/test_foresight_learning.py::test_who_was_late_plans_for_a_shorter_bound_until_it_is_made_up",
    ),
    Mutant(
        fault="new code that costs twice as much is averaged with the old",
        file="src/elastream/policies/foresight/learning.py",
        before="            return since\n",
        after="            return told\n",
        test="tests/unit/policies/test_foresight_learning.py"
        "::test_two_batches_in_a_row_that_take_twice_as_long_are_another_job_and_one_is_an_accident",
    ),
    Mutant(
        fault="a continuous job is taken to share all of its work at sizes it never had",
        file="src/elastream/policies/foresight/capacity.py",
        before="_law(seen, sizes, now_s, _SERIAL))",
        after="_law(seen, sizes, now_s, 0.0))",
        test="tests/unit/policies/test_foresight_learning.py"
        "::test_far_from_the_only_size_that_was_seen_the_worse_of_two_laws_is_believed",
    ),
    Mutant(
        fault="executors are bought for a promise that the trigger leaves no time for",
        file="src/elastream/policies/foresight/batches.py",
        before="bound_s=max(bound_s, least_s),",
        after="bound_s=bound_s,",
        test="tests/stories/test_foresight_trials.py"
        "::test_where_its_promise_leaves_no_time_it_says_so_and_buys_nothing_for_it",
    ),
    Mutant(
        fault="a policy that waits by itself is calmed by a guard as well",
        file="src/elastream/attachment/assembly.py",
        before='if not getattr(decides, "damped", False) or',
        after="if True or",
        test="tests/unit/test_attachment.py::test_a_policy_without_damping_of_its_own_is_calmed_by_a_guard",
    ),
    Mutant(
        fault="nobody is told that a policy is looked at less often than it decides",
        file="src/elastream/core/needs.py",
        before="if interval_s >= tick_s:",
        after="if True:",
        test="tests/unit/test_needs.py::test_a_policy_that_is_looked_at_less_often_than_it_decides_says_so",
    ),
    Mutant(
        fault="a record of which a part came before a silence has waited through it",
        file="src/elastream/workloads/series.py",
        before="math.floor(arrived[i] + _WHOLE)",
        after="arrived[i]",
        test="tests/unit/test_workload_series.py"
        "::test_a_record_of_which_a_part_came_before_a_silence_has_not_waited_through_it",
    ),
    Mutant(
        fault="what a job does while it falls behind tells nothing of what it can do",
        file="src/elastream/policies/foresight/capacity.py",
        before="if (took_s := points[-1][0] - first[0]) >= _BEHIND_S",
        after="if (took_s := points[-1][0] - first[0]) >= 1e9",
        test="tests/stories/test_foresight.py"
        "::test_a_job_that_has_never_been_measured_is_measured_while_it_falls_behind_and_changed_once",
    ),
    Mutant(
        fault="a task that begins at home makes free slots wait anew",
        file="src/elastream/simulator/microbatch/engine.py",
        before="if not any(worker.running < worker.slots for worker in free):",
        after="if free:",
        test="tests/unit/simulator/test_microbatch.py"
        "::test_slots_are_refused_for_so_long_and_no_longer_however_many_tasks_begin_meanwhile",
    ),
    Mutant(
        fault="a decision that restates the sizes counts as a change",
        file="src/elastream/experiments/replication/size_path.py",
        before="if not steps or steps[-1].pools != pools:",
        after="if True:",
        test="tests/unit/experiments/test_replication.py"
        "::test_the_path_of_a_run_has_each_size_once_and_a_change_of_several_pools_is_one",
    ),
    Mutant(
        fault="sizes that were put into the models of DS2's queries are scored",
        file="experiments/ds2/convergence.py",
        before="model=query), doubt=PUT_IN)",
        after="model=query))",
        test="tests/unit/experiments/test_ds2_evaluation.py"
        "::test_table_4_is_scored_by_steps_and_not_by_the_sizes_that_were_put_into_the_models",
    ),
    Mutant(
        fault="a share that is the same in all cases is taken for certain",
        file="src/elastream/experiments/statistics.py",
        before="+ z**2 / (4 * number**2)) /",
        after="- 0 * z) /",
        test="tests/unit/experiments/test_statistics.py"
        "::test_a_share_that_is_the_same_in_all_cases_is_not_known_for_all_that",
    ),
    Mutant(
        fault="a saving below nothing is drawn as none",
        file="src/elastream/experiments/replication/page.py",
        before="low, high = min(0.0, *known) - 0.02 * most, 1.02 * most",
        after="low, high = -0.02 * most, 1.02 * most",
        test="tests/unit/experiments/test_replication.py"
        "::test_shares_are_drawn_between_none_and_all_and_what_is_below_none_left_of_it",
    ),
    Mutant(
        fault="a recovery goes on through the next change of size",
        file="experiments/daedalus/recoveries.py",
        before="changed_s + SHORTEST_STOP_S <= one.t_s < end_s and",
        after="changed_s + SHORTEST_STOP_S <= one.t_s and",
        test="tests/unit/experiments/test_daedalus_evaluation.py"
        "::test_a_recovery_that_the_next_change_overtakes_has_no_end",
    ),
    Mutant(
        fault="a failure that a job never recovered from is left out",
        file="experiments/daedalus/recoveries.py",
        before="for one in took]) if took",
        after="for one in known]) if known",
        test="tests/unit/experiments/test_daedalus_evaluation.py"
        "::test_a_failure_counts_as_recovered_from_only_within_the_target",
    ),
    Mutant(
        fault="what Phoebe's profile takes is forgotten",
        file="experiments/daedalus/averages.py",
        before="_mean_since(theirs, since_s) + worker_h / hours",
        after="_mean_since(theirs, since_s)",
        test="tests/unit/experiments/test_daedalus_evaluation.py"
        "::test_phoebes_profile_is_counted_as_if_it_had_been_made_before_the_run",
    ),
    Mutant(
        fault="the latency that was put into Daedalus' models is scored",
        file="experiments/daedalus/averages.py",
        before="return SET if quantity is WORKERS else PUT_IN",
        after='return SET if quantity is WORKERS else ""',
        test="tests/unit/experiments/test_daedalus_evaluation.py"
        "::test_what_was_set_or_put_into_the_models_is_not_scored",
    ),
    Mutant(
        fault="workers cost while a change stops Gesscale's job",
        file="experiments/gesscale/runs.py",
        before="0 if any(a <= look.t_s < b for a, b in stops) else look.ready",
        after="look.ready",
        test="tests/unit/experiments/test_gesscale_evaluation.py::test_a_run_by_hand",
    ),
    Mutant(
        fault="a tie speaks for the order that is told",
        file="experiments/gesscale/orders.py",
        before="return 0.5 if low == high else float(low < high)",
        after="return float(low <= high)",
        test="tests/unit/experiments/test_gesscale_evaluation.py"
        "::test_an_order_holds_in_a_world_if_every_step_of_it_does_and_a_tie_speaks_for_neither",
    ),
    Mutant(
        fault="boards drawn anew count as another draw",
        file="experiments/gesscale/orders.py",
        before="for (one, _), case in cases.items() if one == draw) for draw in draws]",
        after="for (one, seed), case in cases.items() if (one, seed) == draw) for draw in cases]",
        test="tests/unit/experiments/test_gesscale_evaluation.py"
        "::test_an_order_holds_in_a_world_if_every_step_of_it_does_and_a_tie_speaks_for_neither",
    ),
    Mutant(
        fault="who knows Gesscale's network begins anywhere all the same",
        file="src/elastream/simulator/published.py",
        before="start=nodes[: pool.initial_workers] if knows_network else (),",
        after="start=(),",
        test="tests/unit/experiments/test_gesscale_evaluation.py"
        "::test_who_knows_the_network_begins_on_the_nearest_boards_and_others_anywhere",
    ),
    Mutant(
        fault="changes after the load's end count among those of DS2 on Spark",
        file="experiments/ds2/live.py",
        before="if self.begin_s <= step.at_s <= self.end_s)",
        after="if self.begin_s <= step.at_s)",
        test="tests/unit/experiments/test_ds2_evaluation.py::test_on_spark_only_what_happens_under_the_load_counts",
    ),
    Mutant(
        fault="a live run begins with the fewest executors, whatever its experiment says",
        file="src/elastream/experiments/live_setup.py",
        before="return self.executors[0] if given is None else given",
        after="return self.executors[0]",
        test="tests/unit/experiments/test_live_setup.py"
        "::test_a_run_begins_with_as_many_executors_as_the_experiment_says_and_else_with_the_fewest",
    ),
    Mutant(
        fault="the decisions of a live run are told by the clock of its machine",
        file="src/elastream/experiments/store/tables.py",
        before='"t_s": tick.at_s - self._began_s,',
        after='"t_s": tick.at_s,',
        test="tests/unit/experiments/test_runner.py"
        "::test_decisions_are_told_in_seconds_since_the_first_moment_as_moments_are",
    ),
    Mutant(
        fault="a report draws every run of a load, however many there are",
        file="src/elastream/experiments/report/choice.py",
        before="[:MOST_RUNS]",
        after="",
        test="tests/unit/experiments/test_report.py"
        "::test_of_many_policies_the_best_are_drawn_so_that_the_file_opens_fast",
    ),
    Mutant(
        fault="what one setting does is told of policies that differ in others as well",
        file="src/elastream/experiments/report/sensitivity.py",
        before="for key, text in settings.items() if key != setting))",
        after="for key, text in settings.items() if key == ''))",
        test="tests/unit/experiments/test_report.py::test_one_setting_is_told_apart_from_all_others_of_its_policy",
    ),
    Mutant(
        fault="the thick line of a distribution ends at p99",
        file="src/elastream/experiments/report/delays.py",
        before="high=place(p95)",
        after="high=place(p99)",
        test="tests/unit/experiments/test_report.py::test_delays_stand_by_powers_of_ten_from_the_median_to_the_longest",
    ),
    Mutant(
        fault="a report as CSV has no intervals",
        file="src/elastream/experiments/report/formats.py",
        before='["", ""] if interval is None else',
        after='["", ""] if True else',
        test="tests/unit/experiments/test_report.py"
        "::test_csv_has_every_number_with_its_interval_and_nothing_for_what_is_unknown",
    ),
    Mutant(
        fault="a report draws the load that tells policies apart least",
        file="src/elastream/experiments/report/choice.py",
        before="return max(contests, key=spread)",
        after="return min(contests, key=spread)",
        test="tests/unit/experiments/test_report.py"
        "::test_the_load_that_tells_policies_apart_is_drawn_through_all_of_them",
    ),
    Mutant(
        fault="what is there too much is drawn as what is needed",
        file="src/elastream/experiments/report/drawn_run.py",
        before='Curve(name="over", label="too many", values=judged,',
        after='Curve(name="over", label="too many", values=demand,',
        test="tests/unit/experiments/test_report.py"
        "::test_too_few_and_too_many_are_what_demand_and_supply_have_over_both",
    ),
    Mutant(
        fault="a share on the edge of two colours of the heat map has the worse one",
        file="src/elastream/experiments/report/heat.py",
        before="bisect_right(list(STEPS), share) - 1",
        after="max(0, sum(share > one for one in STEPS) - 1)",
        test="tests/unit/experiments/test_report.py::test_a_cell_is_coloured_by_its_share",
    ),
    Mutant(
        fault="a report compares means over whatever each policy happened to run",
        file="src/elastream/experiments/report/standing.py",
        before="if len(contest.contenders) == len(policies)]",
        after="]",
        test="tests/unit/experiments/test_report.py::test_means_are_over_what_all_policies_ran",
    ),
    Mutant(
        fault="a report names a winner where the difference may be chance",
        file="src/elastream/experiments/report/standing.py",
        before="if difference.interval.excludes_zero:",
        after="if difference.mean > 0:",
        test="tests/unit/experiments/test_report.py::test_a_difference_that_may_be_chance_is_called_none",
    ),
    Mutant(
        fault="the query that a report tells counts runs of older code",
        file="src/elastream/experiments/report/tables.py",
        before=" AND code IN ({codes})",
        after="",
        test="tests/unit/experiments/test_report.py::test_the_query_of_a_figure_makes_its_rows_with_another_tool",
    ),
    Mutant(
        fault="a budget counts no workers that are starting, which the numbers of a run do",
        file="src/elastream/core/guards/budget.py",
        before="count_paid(now) * elapsed_s",
        after="sum(pool.ready + pool.leaving for pool in now.pools) * elapsed_s",
        test="tests/unit/guards/test_budget.py"
        "::test_workers_cost_from_their_request_until_they_have_left_as_the_numbers_of_a_run_say",
    ),
    Mutant(
        fault="classes of others are not sent to executors",
        file="src/elastream/experiments/sweep/shipment.py",
        before="_write(folder, PLAN, members | find_code_members(experiments))",
        after="_write(folder, PLAN, members)",
        test="tests/unit/experiments/test_sweep.py::"
        "test_classes_and_files_of_a_plan_are_shipped_and_found_where_they_lie",
    ),
    Mutant(
        fault="executors look for recorded loads where they lay on the machine of the command",
        file="src/elastream/experiments/sweep/row.py",
        before="workload = workload.replace(path, place)",
        after="pass",
        test="tests/unit/experiments/test_sweep.py::"
        "test_classes_and_files_of_a_plan_are_shipped_and_found_where_they_lie",
    ),
    Mutant(
        fault="executors that cannot write to the folder of the runs are let in",
        file="src/elastream/experiments/sweep/executors.py",
        before='if not found["sees_folder"]:',
        after="if False:",
        test="tests/unit/experiments/test_sweep.py::"
        "test_an_executor_that_cannot_run_experiments_is_named_with_what_it_lacks",
    ),
    Mutant(
        fault="packages that are too old count as there",
        file="src/elastream/experiments/sweep/on_executor.py",
        before="if numbers < least else None",
        after="if False else None",
        test="tests/unit/experiments/test_sweep.py::test_packages_that_are_missing_too_old_or_broken_are_told_apart",
    ),
    Mutant(
        fault="a sweep ends with the experiment that ends its Python",
        file="src/elastream/experiments/sweep/backend.py",
        before="            if len(rows) > 1:\n",
        after="            if len(rows) > 1:\n                raise\n",
        test="tests/spark/test_sweeps.py::test_an_experiment_that_ends_its_python_is_a_row_and_the_others_are_run",
    ),
    Mutant(
        fault="what a query's source has read goes by the batches of another query, with whose name its own begins",
        file="src/elastream/core/batch_windows.py",
        before='found |= {f"{query.id}/{source.name}": period_s for source in query.sources}',
        after="pass",
        test="tests/unit/test_batch_windows.py"
        "::test_what_belongs_to_one_query_goes_by_its_own_batches_and_the_pool_by_the_longest",
    ),
    Mutant(
        fault="what a package lacks is told in the middle of a line that a shell completes",
        file="src/elastream/cli/parsing/completion.py",
        before="        log.disabled = True\n",
        after="",
        test="tests/unit/test_cli_catalogues.py::test_what_cannot_be_completed_is_not_told_in_the_middle_of_a_line",
    ),
    Mutant(
        fault="an event may be as far ahead of its arrival as it likes",
        file="src/elastream/jobs/event_times.py",
        before=" AND event_time <= {arrival} + {ahead}",
        after="",
        test="tests/unit/test_topic_judging.py::test_what_is_too_far_ahead_of_its_timestamp_is_no_event",
    ),
    Mutant(
        fault="the last auctions of a seller are one more than they should be",
        file="src/elastream/jobs/nexmark/averages.py",
        before="if count > self._last:",
        after="if count > self._last + 1:",
        test="tests/jobs/test_answers.py::test_its_rows_are_right_over_a_small_input[nexmark-q6]",
    ),
    Mutant(
        fault="a bid wins an auction that is over",
        file="src/elastream/jobs/nexmark/winning.py",
        before="id = auction AND placed <= expires AND",
        after="id = auction AND",
        test="tests/jobs/test_answers.py::test_its_rows_are_right_over_a_small_input[nexmark-q9]",
    ),
    Mutant(
        fault="a price may be of any size",
        file="src/elastream/jobs/nexmark/streams.py",
        before="price BETWEEN 0 AND {_MOST}",
        after="price IS NOT NULL",
        test="tests/jobs/test_rubbish.py::test_absurd_values_in_every_field_kill_no_job_and_change_no_other_row[nexmark-q1]",
    ),
    Mutant(
        fault="rows that came too late are not told",
        file="src/elastream/jobs/batches.py",
        before="return sum(batch.dropped for batch in batches)",
        after="return 0",
        test="tests/unit/test_cli_jobs.py::test_rows_that_came_too_late_are_told",
    ),
    Mutant(
        fault="a plan's experiments that are handed out by handfuls lose one between two of them",
        file="src/elastream/experiments/runner/runner.py",
        before="for task in islice(waiting, 4 * self.number)",
        after="for task, _ in zip(waiting, range(4 * self.number))",
        test="tests/unit/experiments/test_runner.py::test_more_tasks_than_processes_can_hold_are_all_run",
    ),
    Mutant(
        fault="a run of older code is believed",
        file="src/elastream/experiments/store/identity.py",
        before="code = sha256(digest_code(platform, policy).encode())",
        after="code = sha256()",
        test="tests/unit/experiments/test_runner.py::test_runs_of_older_code_are_stale_and_run_again",
    ),
    Mutant(
        fault="of a policy of others only its own file counts as code",
        file="src/elastream/experiments/store/foreign_code.py",
        before="if candidate.is_file():",
        after="if False:",
        test="tests/unit/experiments/test_runner.py::test_code_of_others_counts_with_what_it_imports_from_beside_it",
    ),
    Mutant(
        fault="what a rule of a plan does wrong is told of no line",
        file="src/elastream/experiments/plan/blame.py",
        before='return "cases", number, "set"',
        after="return None",
        test="tests/unit/experiments/test_plans.py::test_what_is_wrong_is_told_with_file_line_key_and_the_nearest_name",
    ),
    Mutant(
        fault="a quantile over time counts looks",
        file="src/elastream/evaluation/curve.py",
        before="passed_s += lasted_s",
        after="passed_s += self.known_s / len(sorted_pieces)",
        test="tests/unit/evaluation/test_metrics.py::test_quantiles_over_time_weigh_by_time_and_not_by_looks",
    ),
    Mutant(
        fault="SPEC's accuracy is not divided by the demand",
        file="src/elastream/evaluation/elasticity.py",
        before="(one[0] if share else 1)",
        after="1",
        test="tests/unit/evaluation/test_metrics.py::test_a_number_is_what_its_documentation_says",
    ),
    Mutant(
        fault="what a run does not have is 0",
        file="src/elastream/evaluation/curve.py",
        before="return self.integral / self.known_s if self.known_s else None",
        after="return self.integral / self.known_s if self.known_s else 0.0",
        test="tests/unit/evaluation/test_metrics.py::test_what_a_run_does_not_have_is_empty_and_never_zero",
    ),
    Mutant(
        fault="the least size is one that does not keep the promise",
        file="src/elastream/experiments/demand.py",
        before="return sizes[place] if place < len(sizes) else None",
        after="return sizes[max(0, place - 1)]",
        test="tests/unit/experiments/test_demand.py::test_the_least_size_is_the_first_of_all_that_keeps_the_promise",
    ),
    Mutant(
        fault="somebody is named best where the interval of the difference holds 0",
        file="src/elastream/experiments/comparison.py",
        before="if not difference.interval.excludes_zero:",
        after="if False:",
        test="tests/unit/experiments/test_comparison.py::test_where_the_interval_holds_zero_no_difference_is_shown",
    ),
    Mutant(
        fault="who breaks the SLO wins by being cheap",
        file="src/elastream/experiments/comparison.py",
        before="breaks = number is None and one.keeps_slo is False",
        after="breaks = False",
        test="tests/unit/experiments/test_comparison.py::test_cheap_is_good_only_for_those_that_keep_their_promise",
    ),
    Mutant(
        fault="few repetitions have the interval of many",
        file="src/elastream/experiments/statistics.py",
        before="reach = find_t(number - 1) * error",
        after="reach = 1.96 * error",
        test="tests/unit/experiments/test_statistics.py::test_an_interval_holds_the_true_mean_as_often_as_it_says",
    ),
    Mutant(
        fault="the critical difference of ranks is not Nemenyi's",
        file="src/elastream/experiments/statistics.py",
        before="critical_difference=find_studentized_range(count) / math.sqrt(2) *",
        after="critical_difference=find_studentized_range(count) *",
        test="tests/unit/experiments/test_statistics.py::test_ranks_over_workloads_as_worked_by_hand",
    ),
    Mutant(
        fault="where a recorded load lies changes what a run is called",
        file="src/elastream/experiments/store/identity.py",
        before="text = text.replace(trace.file, Path(trace.file).name)",
        after="pass",
        test="tests/unit/experiments/test_runner.py::test_equal_experiments_have_equal_names_wherever_their_files_lie",
    ),
    Mutant(
        fault="paths in an included plan start from the plan that includes it",
        file="src/elastream/experiments/plan/reader.py",
        before="return self.place(*keys).file.parent",
        after="return self.path.parent",
        test="tests/unit/experiments/test_plans.py::test_paths_start_from_the_file_they_stand_in",
    ),
    Mutant(
        fault="what a plan excludes is run all the same",
        file="src/elastream/experiments/plan/matrix.py",
        before="        if out is not None:\n",
        after="        if False:\n",
        test="tests/unit/experiments/test_plans.py::test_what_is_excluded_is_not_run_and_told_with_its_reason",
    ),
    Mutant(
        fault="`why` does not hide by the pattern that it is given",
        file="src/elastream/cli/commands/why.py",
        before="    hide_by(conf)\n",
        after="",
        test="tests/unit/test_secrets_everywhere.py::test_what_reads_a_journal_can_hide_what_its_writer_did_not",
    ),
    Mutant(
        fault="compared runs are drawn each on a scale of its own",
        file="src/elastream/render/page/comparison.py",
        before="scale=scales[strip.name], ",
        after="",
        test="tests/unit/test_page_comparison.py::test_strips_of_all_runs_share_their_axes",
    ),
    Mutant(
        fault="windows that the watermark has not passed must be there",
        file="src/elastream/jobs/judging.py",
        before="if not (run.goes_on and result.is_final):",
        after="if True:",
        test="tests/unit/test_judging.py::test_of_an_input_that_goes_on_only_what_the_watermark_has_passed_must_be_there",
    ),
    Mutant(
        fault="a batch that had begun when the time was over is left half written",
        file="src/elastream/experiments/live_query.py",
        before="reached is None or reached.is_between:",
        after="reached is None or True:",
        test="tests/unit/experiments/test_live_query.py::"
        "test_a_batch_that_had_begun_is_finished_if_it_may_have_written_to_a_topic",
    ),
    Mutant(
        fault="rows of a batch that was not committed count as given out",
        file="src/elastream/jobs/output.py",
        before="if last is None or batch > last:",
        after="if last is None:",
        test="tests/unit/test_checkpoint.py::test_rows_of_a_batch_that_was_not_committed_did_not_come_out",
    ),
    Mutant(
        fault="a batch that has begun counts as read",
        file="src/elastream/jobs/checkpoint.py",
        before='"offsets" / str(commits[-1]))',
        after='"offsets" / str(offsets[-1]))',
        test="tests/unit/test_checkpoint.py::test_a_batch_that_has_only_begun_counts_for_nothing_but_is_seen",
    ),
    Mutant(
        fault="messages that were there before count as delayed by the run",
        file="src/elastream/jobs/topic_judging.py",
        before=" & (stamps_s >= since_s)",
        after="",
        test="tests/unit/test_topic_judging.py::"
        "test_a_delay_is_from_the_timestamp_to_the_commit_of_the_batch_that_has_read_it",
    ),
    Mutant(
        fault="every surplus row passes for a copy where a task has run again",
        file="src/elastream/jobs/judging.py",
        before=" and not _has_strangers(expected, found) else 0",
        after=" else 0",
        test="tests/unit/test_judging.py::test_copies_are_right_only_where_a_task_has_run_again",
    ),
    Mutant(
        fault="a number that is written as text passes for a number",
        file="src/elastream/jobs/json_rows.py",
        before="value if type(value) is int and -most",
        after="int(value) if str(value).isdecimal() and -most",
        test="tests/unit/test_json_rows.py::test_a_value_of_another_type_is_none",
    ),
    Mutant(
        fault="what a topic held before the run passes for its output",
        file="src/elastream/jobs/topic_rows.py",
        before="(since.get(number, (0, 0))[1], end)",
        after="(0, end)",
        test="tests/unit/test_topic_judging.py::"
        "test_only_what_was_written_since_counts_and_of_rows_that_are_told_again_the_newest",
    ),
    Mutant(
        fault="an empty topic is found out by waiting for it",
        file="src/elastream/jobs/topics.py",
        before="if all(first == end for first, end in places[topic].values()):",
        after="if False:",
        test="tests/unit/test_topics.py::test_what_is_wrong_with_topics_is_one_line_and_nothing_is_started",
    ),
    Mutant(
        fault="times in Kafka end at the millisecond",
        file="src/elastream/jobs/output.py",
        before="HH:mm:ss.SSSSSSXXX",
        after="HH:mm:ss.SSSXXX",
        test="tests/jobs/test_bench.py::test_no_digit_of_a_row_is_lost_in_json",
    ),
    Mutant(
        fault="a broker that has ended is taken for one that runs",
        file="src/elastream/development/kafka/finder.py",
        before="not found.is_up or ",
        after="",
        test="tests/unit/test_kafka_finder.py::test_a_broker_that_has_ended_is_none",
    ),
    Mutant(
        fault="a file is run to find out whether it has the class",
        file="src/elastream/registry/class_file.py",
        before="if not found.may_have(name):",
        after="if False:",
        test="tests/unit/test_job_files.py::test_a_file_that_cannot_have_the_class_is_not_run",
    ),
    Mutant(
        fault="functions of a job in a file stay behind when its tasks leave",
        file="src/elastream/jobs/job.py",
        before="cloudpickle.register_pickle_by_value(module)",
        after="cloudpickle.list_registry_pickle_by_value()",
        test="tests/unit/test_job_files.py::test_functions_of_a_file_travel_with_their_tasks",
    ),
    Mutant(
        fault="a script is refused without the line that runs it",
        file="src/elastream/jobs/catalogue.py",
        before="if not known and not is_imported:",
        after="if False:",
        test="tests/unit/test_job_files.py::test_a_script_gets_the_line_to_write_and_is_not_run",
    ),
    Mutant(
        fault="a policy that cannot run ends the whole comparison",
        file="src/elastream/cli/commands/simulate.py",
        before="[one for one in named if one.experiment.policy.label not in unfit] or named",
        after="named",
        test="tests/unit/test_cli_simulate.py::test_a_policy_that_cannot_run_does_not_keep_the_others_from_running",
    ),
    Mutant(
        fault="an option behind the script is passed on without a word",
        file="src/elastream/cli/commands/run.py",
        before="    if found:\n        stand, go",
        after="    if not found:\n        stand, go",
        test="tests/unit/test_run.py::test_an_option_of_ours_behind_the_script_is_warned_of",
    ),
    Mutant(
        fault="a shell is offered no names",
        file="src/elastream/cli/parsing/completion.py",
        before="for name, doc in names() if",
        after="for name, doc in () if",
        test="tests/unit/test_cli_catalogues.py::test_a_shell_completes_names",
    ),
    Mutant(
        fault="a measured model is shown as one that nobody measured",
        file="src/elastream/cli/terminal/model_numbers.py",
        before="    if name in MODELS:",
        after="    if name:",
        test="tests/unit/test_cli_catalogues.py::test_a_model_shows_its_numbers_and_where_they_come_from",
    ),
    Mutant(
        fault="a setting loses its unit although another has the name without",
        file="src/elastream/registry/hints.py",
        before="return name if short in others else short",
        after="return short",
        test="tests/unit/test_cli_help.py::test_a_setting_keeps_its_unit_where_another_has_the_name_without",
    ),
    Mutant(
        fault="an option calls its value by a word of its own",
        file="src/elastream/cli/commands/bench.py",
        before='metavar="DURATION", help="How long the second part',
        after='metavar="TIME", help="How long the second part',
        test="tests/unit/test_cli_help.py::test_every_value_is_called_by_a_word_that_means_the_same_everywhere",
    ),
    Mutant(
        fault="attach does not read the file of settings that it is given",
        file="src/elastream/attachment/assembly.py",
        before="resolve(flags, conf, os.environ, config, defaults",
        after="resolve(flags, conf, os.environ, None, defaults",
        test="tests/unit/test_attachment.py::test_a_file_of_settings_is_read_and_anything_else_wins_over_it",
    ),
    Mutant(
        fault="a guard that was switched off for a live run is on",
        file="src/elastream/experiments/live_run.py",
        before="{name: False for name in usual if name not in given}",
        after="{}",
        test="tests/unit/test_cli_settings.py::test_a_file_reaches_a_live_run_with_all_that_stands_in_it",
    ),
    Mutant(
        fault="a file's `1:12` is taken for 72",
        file="src/elastream/config/yaml_file.py",
        before="[(_TIME, _SEXAGESIMAL), *(",
        after="[*(",
        test="tests/unit/test_bounds.py::test_a_file_may_say_both_at_once",
    ),
    Mutant(
        fault="bounds given at once lose the upper one",
        file="src/elastream/config/resolve.py",
        before='zip(("min", "max"), parse_bounds(entry.value, entry.where), strict=True)',
        after='zip(("min",), parse_bounds(entry.value, entry.where), strict=False)',
        test="tests/unit/test_bounds.py::test_so_may_spark_and_the_environment",
    ),
    Mutant(
        fault="YARN is taken for a manager that starts executors before it answers",
        file="src/elastream/spark/scale/managers.py",
        before='a node with executors.\n    """\n\n    starts_at_once: ClassVar[bool] = False',
        after='a node with executors.\n    """\n\n    starts_at_once: ClassVar[bool] = True',
        test="tests/unit/test_executors.py"
        "::test_a_cluster_that_starts_executors_when_it_gets_to_it_keeps_the_higher_total_until_they_are_there",
    ),
    Mutant(
        fault="a young standalone application is taken to have no executors on their way",
        file="src/elastream/spark/scale/managers.py",
        before='"spark://": Standalone()',
        after='"standalone://": Standalone()',
        test="tests/unit/test_session.py"
        "::test_an_application_that_has_just_begun_waits_for_its_executors_and_an_older_one_has_those_it_has",
    ),
    Mutant(
        fault="the ceiling of one query takes workers from another that is not measured yet",
        file="src/elastream/core/guards/demand.py",
        before="least = 1 if len(live) == len(running) else pool.wanted",
        after="least = 1",
        test="tests/unit/guards/test_partition_ceiling.py"
        "::test_from_a_query_that_is_not_measured_yet_nothing_is_taken_for_the_ceiling_of_another",
    ),
    Mutant(
        fault="a query that the policy says nothing of ends the guard of partitions",
        file="src/elastream/core/guards/partition_ceiling.py",
        before="decision.slots.get(query.id, 0.0) > useful[query.id]",
        after="decision.slots[query.id] > useful[query.id]",
        test="tests/unit/guards/test_partition_ceiling.py"
        "::test_from_a_query_that_is_not_measured_yet_nothing_is_taken_for_the_ceiling_of_another",
    ),
    Mutant(
        fault="executors are added between batches that wait for one task, until there are three of them",
        file="src/elastream/core/bottleneck/batches.py",
        before="late_batches(query, now, known) or find_proof(query, now, known)",
        after="late_batches(query, now, known)",
        test="tests/unit/test_bottleneck.py"
        "::test_one_late_batch_that_waited_for_a_task_with_most_of_its_records_is_enough",
    ),
    Mutant(
        fault="a look is read in one piece, which waits for the kernel",
        file="src/elastream/spark/jvm/listener.py",
        before="_PIECE = 7_000",
        after="_PIECE = 700_000",
        test="tests/unit/spark/test_pieces.py",
    ),
    Mutant(
        fault="the collector of an application that wants none is switched on",
        file="src/elastream/loop/controller.py",
        before="        if was_on:",
        after="        if True:",
        test="tests/unit/test_controller.py"
        "::test_no_garbage_is_collected_in_the_middle_of_a_tick_and_who_collects_none_is_left_alone",
    ),
    Mutant(
        fault="totals that lack what was lost are shown as if they were whole",
        file="src/elastream/spark/observe/observer.py",
        before="queries=tuple(map(without_totals, queries)) if is_lossy else queries,",
        after="queries=queries,",
        test="tests/unit/spark/test_losses.py::test_readings_are_unknown_in_the_look_that_finds_a_loss_and_in_no_other",
    ),
    Mutant(
        fault="a rate is told across a loss of events",
        file="src/elastream/spark/observe/observer.py",
        before="dict.fromkeys(ADDED_UP, REASON) if is_lossy else {}",
        after="dict[Signal, str]()",
        test="tests/unit/spark/test_losses.py::test_no_rate_is_told_across_a_loss",
    ),
    Mutant(
        fault="nobody is told of lost events",
        file="src/elastream/loop/controller.py",
        before="(*now.troubles, *planned.troubles,",
        after="(*planned.troubles,",
        test="tests/unit/test_controller.py::test_what_went_wrong_with_looking_is_told_once_though_there_is_a_look",
    ),
    Mutant(
        fault="a batch of which events were lost has a cost",
        file="src/elastream/spark/observe/query_tracker.py",
        before="busy_s=work.busy_s if is_whole else None",
        after="busy_s=work.busy_s",
        test="tests/unit/spark/test_losses.py::test_the_cost_of_a_batch_of_which_events_were_lost_is_unknown_and_that_of_the_next_is_known",
    ),
    Mutant(
        fault="an event that was dropped counts again when it is missed",
        file="src/elastream/spark/observe/losses.py",
        before="max(0, look.lost - look.dropped)",
        after="look.lost",
        test="tests/unit/spark/test_losses.py::"
        "test_what_was_dropped_before_we_listened_and_what_is_missed_a_minute_after_it_was_dropped_is_no_new_loss",
    ),
    Mutant(
        fault="an overloaded application whose events are lost is left to starve",
        file="src/elastream/core/guards/starvation.py",
        before="_running_share(pool) if is_blind else known",
        after="known",
        test="tests/unit/guards/test_starvation.py"
        "::test_where_events_were_lost_the_tasks_that_run_now_say_whether_slots_are_full",
    ),
    Mutant(
        fault="ds2 measures an interval across a loss of events",
        file="src/elastream/policies/ds2/policy.py",
        before='return {**memory, "began": None}',
        after="pass",
        test="tests/unit/spark/test_losses.py::test_ds2_measures_no_interval_across_a_loss",
    ),
    Mutant(
        fault="a model is measured across a loss of events",
        file="src/elastream/simulator/calibration.py",
        before="    looks = _without_gaps(looks)\n",
        after="",
        test="tests/unit/simulator/test_measured.py"
        "::test_of_a_run_in_which_events_were_lost_the_longest_part_without_a_loss_is_measured",
    ),
    Mutant(
        fault="executors on other hosts have no processor use",
        file="src/elastream/spark/observe/pool_tracker.py",
        before='return "tasks", None if executor is None else',
        after='return "tasks", None if executor is not None else',
        test="tests/unit/spark/test_task_cpu.py::test_policies_decide_by_the_processor_use_of_executors_elsewhere",
    ),
    Mutant(
        fault="what a long task computed is counted all at once when it ends",
        file="src/elastream/spark/observe/task_cpu.py",
        before="told.used_s += busy_s * min(1.0, told.computed_s / told.held_s)",
        after="told.used_s = executor.cpu_s",
        test="tests/unit/spark/test_task_cpu.py::test_a_long_task_uses_what_those_before_it_used_while_it_runs_and_not_all_at_its_end",
    ),
    Mutant(
        fault="the memory of executors on other hosts is said to be provided",
        file="src/elastream/spark/observe/observer.py",
        before="lacks = lost | self._pooling.lacks()",
        after="lacks = lost",
        test="tests/unit/spark/test_task_cpu.py::test_a_policy_that_needs_memory_holds_says_why_and_decides_again_when_all_executors_are_here",
    ),
    Mutant(
        fault="what lacks in the first look counts as provided",
        file="src/elastream/loop/controller.py",
        before="platform.provides - lacks.keys(), lacks)",
        after="platform.provides, lacks)",
        test="tests/unit/spark/test_task_cpu.py::test_a_policy_that_needs_memory_is_refused_where_the_first_look_lacks_it",
    ),
    Mutant(
        fault="a rate is told across a look in which its total was not known",
        file="src/elastream/core/knowledge.py",
        before="                del series[key]\n",
        after="                pass\n",
        test="tests/unit/test_knowledge.py"
        "::test_across_a_look_in_which_a_signal_lacks_nothing_is_said_of_it_and_all_of_the_others",
    ),
    Mutant(
        fault="processor time of a task counts again when its end is told again",
        file="src/elastream/spark/jvm/Ledger.java",
        before="        // Spark tells the end of a task again when its output is lost with its executor.\n",
        after="        if (executors.get(info.executorId()) != null) {\n"
        "            ((Tally.Worker) executors.get(info.executorId())).ended(metrics);\n        }\n",
        test="tests/spark/test_events.py"
        "::test_what_tasks_computed_is_told_per_executor_when_they_end_once_and_never_more_than_slots_were_busy",
    ),
    Mutant(
        fault="the simulator loses 0.1 % of all records",
        file="src/elastream/simulator/microbatch/query.py",
        before="s.model.name: float(n) for",
        after="s.model.name: float(n) * 0.999 for",
        test="tests/property/test_simulator.py::test_records_in_are_processed_plus_queued_at_every_step",
    ),
    Mutant(
        fault="a batch reads records that have not arrived",
        file="src/elastream/simulator/microbatch/query.py",
        before="source.planned = source.committed + records",
        after="source.planned = source.committed + records + 1",
        test="tests/property/test_simulator.py::test_records_in_are_processed_plus_queued_at_every_step",
    ),
    Mutant(
        fault="delays are measured to the trigger instead of the commit",
        file="src/elastream/simulator/delay.py",
        before="Stretch(committed_s, committed_s - end_s, committed_s - start_s, records)",
        after="Stretch(committed_s, committed_s - end_s - 1.0, committed_s - start_s - 1.0, records)",
        test="tests/property/test_simulator.py::test_delay_quantiles_equal_those_of_single_records",
    ),
    Mutant(
        fault="apply does nothing (platform)",
        file="src/elastream/simulator/microbatch/platform.py",
        before="self.engine.resize(decision.allocation[POOL], decision.leave_first)",
        after="pass",
        test="tests/stories/test_scaling.py::test_a_rising_load_grows_the_pool_and_the_backlog_drains",
    ),
    Mutant(
        fault="apply does nothing (controller)",
        file="src/elastream/loop/controller.py",
        before="self.platform.apply(decision)",
        after="pass",
        test="tests/stories/test_scaling.py::test_an_idle_query_goes_to_the_minimum",
    ),
    Mutant(
        fault="wanted and ready swapped",
        file="src/elastream/core/observation.py",
        before="return {pool.name: pool.wanted for pool in self.pools}",
        after="return {pool.name: pool.ready for pool in self.pools}",
        test="tests/unit/test_decision.py::test_a_hold_stays_at_what_is_wanted_while_workers_are_starting",
    ),
    Mutant(
        fault="the last observation is returned again",
        file="src/elastream/simulator/measurement_faults.py",
        before="        seen = look(now_s)\n",
        after="        seen = self._seen = getattr(self, '_seen', None) or look(now_s)\n",
        test="tests/stories/test_scaling.py::test_a_falling_load_gives_workers_back_and_keeps_up",
    ),
    Mutant(
        fault="a look that was seen before is taken for a new one",
        file="src/elastream/loop/controller.py",
        before="if self._seen_s is not None and now.at_s <= self._seen_s:",
        after="if False:",
        test="tests/unit/test_controller.py::test_the_same_look_again_makes_the_loop_hold_and_say_so",
    ),
    Mutant(
        fault="a guard is skipped",
        file="src/elastream/loop/planner.py",
        before="for name, guard in _with_pause(self.guards, now).items():\n            if name not in failed:",
        after="for name, guard in [*_with_pause(self.guards, now).items()][:-1]:\n            if name not in failed:",
        test="tests/unit/test_planner.py::test_even_while_the_policy_fails_the_bounds_are_kept_and_a_pause_is_a_pause",
    ),
    Mutant(
        fault="a guard that fails skips the bounds",
        file="src/elastream/loop/planner.py",
        before="            decision = Decision.hold(now, failed[name])\n        return decision",
        after="            return Decision.hold(now, failed[name])\n        return decision",
        test="tests/unit/test_planner.py"
        "::test_whatever_a_guard_does_wrong_those_after_it_have_their_say_and_bounds_hold",
    ),
    Mutant(
        fault="ticks that overrun follow each other without a rest",
        file="src/elastream/loop/controller.py",
        before="            return now_s + rest_s\n",
        after="            return now_s\n",
        test="tests/unit/test_controller.py"
        "::test_ticks_that_overrun_leave_half_of_the_time_to_others_and_that_is_said_once",
    ),
    Mutant(
        fault="a second attach with other settings is silently ignored",
        file="src/elastream/attachment/entry.py",
        before="            _tell_ignored(_asked[application], asked)\n",
        after="",
        test="tests/unit/test_attachment.py::test_a_second_attach_with_other_settings_says_what_it_does_not_change",
    ),
    Mutant(
        fault="a handle whose application has ended is returned to the next one",
        file="src/elastream/attachment/entry.py",
        before="if found is not None and found.is_over():",
        after="if False:",
        test="tests/unit/test_attachment.py"
        "::test_a_handle_whose_application_has_ended_says_so_and_a_new_attach_begins_anew",
    ),
    Mutant(
        fault="the loop goes on when the application has ended",
        file="src/elastream/loop/controller.py",
        before="return self._stopped or self.platform.has_ended()",
        after="return self._stopped",
        test="tests/unit/test_attachment.py::test_it_ends_with_its_application",
    ),
    Mutant(
        fault="the clock is frozen",
        file="src/elastream/loop/clock.py",
        before="self._now_s = max(self._now_s, at_s)",
        after="pass",
        test="tests/stories/test_scaling.py::test_ticks_follow_the_clock_and_not_the_batches",
    ),
    Mutant(
        fault="stale readings count as fresh",
        file="src/elastream/core/credible.py",
        before="oldest, newest = now.at_s - max_age_s,",
        after="oldest, newest = now.at_s - 1e9,",
        test="tests/stories/test_faults.py::test_late_metrics_are_unknown_and_never_a_crash",
    ),
    Mutant(
        fault="rows of the running batch are no backlog",
        file="src/elastream/simulator/microbatch/platform.py",
        before="committed=Reading(source.committed, now_s)",
        after="committed=Reading(source.planned, now_s)",
        test="tests/stories/test_faults.py::test_a_blocked_sink_raises_the_backlog_within_two_ticks",
    ),
    Mutant(
        fault="a scarce cluster is not shared in proportion",
        file="src/elastream/core/guards/scarce_cluster.py",
        before="n * available // total)",
        after="available // len(asked))",
        test="tests/unit/guards/test_scarce_cluster.py::test_what_there_is_is_shared_in_proportion",
    ),
    Mutant(
        fault="a torn last line of a journal is read",
        file="src/elastream/journal/reader.py",
        before="return lines - torn, torn",
        after="return lines, False",
        test="tests/unit/test_journal_reading.py::test_a_torn_last_line_is_left_out_with_a_warning",
    ),
    Mutant(
        fault="room in the journal is made after a file is begun, so that its sum is exceeded for a while",
        file="src/elastream/journal/writer.py",
        before="        self._make_room()\n",
        after="",
        test="tests/unit/test_journal.py::test_the_bytes_allowed_are_never_exceeded_at_any_instant",
    ),
    Mutant(
        fault="a file of the journal is ended after the line that makes it too large",
        file="src/elastream/journal/writer.py",
        before="self._bytes + len(line) <= self._max_bytes",
        after="self._bytes <= self._max_bytes",
        test="tests/unit/test_journal.py::test_the_bytes_allowed_are_never_exceeded_at_any_instant",
    ),
    Mutant(
        fault="a snapshot is made in the tick",
        file="src/elastream/journal/background_writer.py",
        before="        self._entries.put(_Entry(tick=tick, after=after))\n",
        after="        self._record(_Entry(tick=tick, after=after))\n",
        test="tests/unit/test_background.py"
        "::test_a_snapshot_that_takes_long_holds_up_no_tick_and_all_is_written_in_order_before_close_returns",
    ),
    Mutant(
        fault="closing does not wait for what is still to be written",
        file="src/elastream/journal/background_writer.py",
        before="        self._thread.join(_PATIENCE_S)\n",
        after="        self._thread.join(0.0)\n",
        test="tests/unit/test_background.py"
        "::test_a_snapshot_that_takes_long_holds_up_no_tick_and_all_is_written_in_order_before_close_returns",
    ),
    Mutant(
        fault="a window shorter than the trigger reads full load or none",
        file="src/elastream/core/batch_windows.py",
        before="    least_s = max(window_s, period_s)\n",
        after="    return window_s\n    least_s = 0.0\n",
        test="tests/stories/test_micro_batches.py"
        "::test_a_steady_load_gets_as_many_workers_whatever_the_trigger_and_the_time_between_two_looks",
    ),
    Mutant(
        fault="a young worker counts before it was watched for a whole batch",
        file="src/elastream/policies/hpa/policy.py",
        before="ready_s + known.whole_s(Signal.WORKER_CPU, subject, self.metric_window_s)",
        after="ready_s + self.metric_window_s",
        test="tests/unit/policies/test_hpa.py::test_a_young_worker_counts_once_it_was_watched_for_a_whole_batch",
    ),
    Mutant(
        fault="a hot key teaches that a pool is full",
        file="src/elastream/estimators/full_use.py",
        before="    return batch.critical_s + batch.driver_s <= _MOST_FIXED * batch.duration_s\n",
        after="    return True\n",
        test="tests/unit/estimators/test_full_use.py::test_nothing_else_shows_it",
    ),
    Mutant(
        fault="what is full at one size is so at every other",
        file="src/elastream/estimators/full_use.py",
        before="self.whole * filled(self.stages, workers * self.slots_per_worker)",
        after="self.whole",
        test="tests/stories/test_micro_batches.py"
        "::test_who_knows_what_is_full_ends_at_the_fewest_workers_that_are_enough",
    ),
    Mutant(
        fault="an overloaded query teaches nothing before a batch has ended",
        file="src/elastream/estimators/full_use.py",
        before="            seen = _guessed(seen, query, query.running, pool, now.at_s)\n",
        after="",
        test="tests/unit/estimators/test_full_use.py"
        "::test_a_running_batch_that_is_late_shows_what_busy_slots_use_times_how_full_waves_are",
    ),
    Mutant(
        fault="HPA takes 1 for full whatever it has learned",
        file="src/elastream/policies/hpa/policy.py",
        before='return full_use.full(memory.get("full", {}).get(pool.name), pool, now.queries, metric)',
        after="return NOT_LEARNED",
        test="tests/stories/test_micro_batches.py"
        "::test_who_knows_what_is_full_keeps_up_where_who_takes_one_for_full_falls_behind_for_good",
    ),
    Mutant(
        fault="thresholds take 1 for full whatever was learned",
        file="src/elastream/policies/threshold.py",
        before="        if use > self.high * full.at(pool.ready):\n",
        after="        if use > self.high:\n",
        test="tests/stories/test_micro_batches.py"
        "::test_who_knows_what_is_full_keeps_up_where_who_takes_one_for_full_falls_behind_for_good",
    ),
    Mutant(
        fault="Daedalus takes 1 for full whatever it has learned",
        file="src/elastream/policies/daedalus/learning.py",
        before="replace(workers, full_use=full.at(pool.ready)) if full.levels else workers",
        after="workers",
        test="tests/stories/test_micro_batches.py"
        "::test_daedalus_takes_nine_workers_for_what_twelve_can_do_unless_it_learns_what_is_full",
    ),
    Mutant(
        fault="a window ends anywhere in a batch",
        file="src/elastream/core/batch_windows.py",
        before="    return best[1]\n",
        after="    return least_s\n",
        test="tests/unit/test_batch_windows.py::test_a_steady_load_reads_the_same_at_every_moment_of_a_batch",
    ),
    Mutant(
        fault="every reading of the last hour is in every snapshot",
        file="src/elastream/core/knowledge.py",
        before="LEAST_S = 120.0",
        after="LEAST_S = 3600.0",
        test="tests/unit/test_journal.py::test_a_snapshot_does_not_grow_with_the_time_a_run_takes",
    ),
    Mutant(
        fault="a window is answered from fewer readings than there were in it",
        file="src/elastream/core/series.py",
        before="        first = self._first(at_s)\n",
        after="        first = self._first(at_s) + 1\n",
        test="tests/unit/test_knowledge.py::test_what_is_asked_does_not_depend_on_what_was_dropped",
    ),
    Mutant(
        fault="ticks whose memory was dropped are compared all the same",
        file="src/elastream/journal/replay.py",
        before="            whole = here\n",
        after="            whole = True\n",
        test="tests/unit/test_journal.py::test_where_memory_was_dropped_the_rest_is_read_and_not_compared",
    ),
    Mutant(
        fault="a journal that is nested too deeply ends in a traceback",
        file="src/elastream/journal/reader.py",
        before="    except (ValueError, RecursionError):\n",
        after="    except ValueError:\n",
        test="tests/unit/test_journal_reading.py::test_what_somebody_has_made_up_is_refused_in_one_line",
    ),
    Mutant(
        fault="a decision on a pool that was not seen is a traceback in why",
        file="src/elastream/journal/validation.py",
        before="if now is not None and decision.allocation.keys() != now.wanted().keys():",
        after="if False:",
        test="tests/unit/test_journal_reading.py::test_what_somebody_has_made_up_is_refused_in_one_line",
    ),
    Mutant(
        fault="a journal that cannot be written keeps a loop from beginning",
        file="src/elastream/attachment/assembly.py",
        before="    except JournalError as wrong:\n",
        after="    except KeyError as wrong:\n",
        test="tests/unit/test_attachment.py::test_a_journal_that_cannot_be_written_is_told_and_the_loop_begins",
    ),
    Mutant(
        fault="aliases in a file of settings may stand for a billion values",
        file="src/elastream/config/yaml_file.py",
        before="if size > MOST_VALUES:",
        after="if size > 10**6:",
        test="tests/fuzz/test_settings.py::test_dates_depth_and_bombs_are_one_line",
    ),
    Mutant(
        fault="an exponent of many digits crashes the parser of workloads",
        file="src/elastream/core/quantity.py",
        before="    except DecimalException:\n",
        after="    except KeyError:\n",
        test="tests/unit/test_quantity.py::test_an_exponent_that_no_number_has_is_no_number",
    ),
    Mutant(
        fault="secrets are written to the journal",
        file="src/elastream/journal/format.py",
        before='_dumped(sanitize_line(_TICK.dump_python(tick, mode="json", exclude_defaults=True, warnings=False)))',
        after="_dumped(_TICK.dump_python(tick, mode='json', exclude_defaults=True, warnings=False))",
        test="tests/unit/test_journal.py::test_secrets_are_not_written",
    ),
    Mutant(
        fault="a replay compares nothing",
        file="src/elastream/journal/replay.py",
        before="return (one.allocation, one.kind, one.leave_first, one.add_on) == (",
        after="return True or (",
        test="tests/unit/test_replay.py::test_one_other_rate_makes_later_decisions_differ",
    ),
    Mutant(
        fault="the policy's memory is not restored",
        file="src/elastream/loop/planner.py",
        before='= known, snapshot["memory"], guards',
        after="= known, self.policy.start(), guards",
        test="tests/contract/test_policies.py::"
        "test_stopped_in_the_middle_and_restored_from_json_it_goes_on_as_if_nothing_had_happened",
    ),
    Mutant(
        fault="a policy reads the clock",
        file="src/elastream/policies/fixed.py",
        before='return Decision.keep(now, "the size at the start is kept")',
        after="return Decision.keep(now, f\"the size at the start is kept, {__import__('time').time()}\")",
        test="tests/contract/test_policies.py::"
        "test_policies_are_pure_in_two_processes_with_other_clocks_and_hash_seeds",
    ),
    Mutant(
        fault="a policy decides although what it needs is unknown",
        file="src/elastream/policies/threshold.py",
        before="        if unknown:\n",
        after="        if False:\n",
        test="tests/contract/test_policies.py::"
        "test_without_what_it_needs_it_holds_and_says_what_is_missing_and_what_it_needs_is_declared",
    ),
    Mutant(
        fault="a batch counts as committed as soon as it is planned",
        file="src/elastream/spark/observe/query_tracker.py",
        before="committed=at(seen.committed, place),\n                available",
        after="committed=at(seen.available, place),\n                available",
        test="tests/unit/spark/test_observing.py::"
        "test_backlog_is_right_in_the_middle_of_a_long_batch_without_a_read_limit",
    ),
    Mutant(
        fault="what retention has deleted unread counts as backlog",
        file="src/elastream/spark/observe/kafka_probe.py",
        before="return max(offset, oldest) + self._moved",
        after="return offset + self._moved",
        test="tests/unit/spark/test_kafka_log.py::test_what_retention_deleted_unread_is_no_backlog",
    ),
    Mutant(
        fault="a silent broker's last answer is taken for the present",
        file="src/elastream/spark/observe/kafka_probe.py",
        before="if log.utc_s is None or log.problem is not None:",
        after="if log.utc_s is None:",
        test="tests/unit/spark/test_kafka_log.py::test_a_log_that_does_not_answer_makes_the_lag_unknown_and_says_why",
    ),
    Mutant(
        fault="the age of a backlog is that of the partition that is read first",
        file="src/elastream/spark/observe/source_tracker.py",
        before="Reading(max(0.0, at_s - min(known)), at_s)",
        after="Reading(max(0.0, at_s - max(known)), at_s)",
        test="tests/unit/spark/test_kafka_log.py::"
        "test_the_age_of_the_backlog_is_that_of_the_oldest_record_of_any_partition",
    ),
    Mutant(
        fault="the producer writes an event to another partition",
        file="src/elastream/development/kafka/producer.py",
        before="(offsets % options.partitions).tolist()",
        after="((offsets + 1) % options.partitions).tolist()",
        test="tests/unit/test_producer.py::"
        "test_every_event_is_written_once_to_the_partition_of_its_offset_with_the_bytes_of_the_generator",
    ),
    Mutant(
        fault="elastream run changes the shuffle partitions that a checkpoint keeps",
        file="src/elastream/launch/setting_up.py",
        before="if one.key not in conf and one.key not in LEFT_ALONE",
        after="if one.key not in conf",
        test="tests/unit/test_launch_sessions.py::test_the_partitions_that_a_checkpoint_would_keep_are_left_alone",
    ),
    Mutant(
        fault="DS2 multiplies healthy operators while another is unknown",
        file="src/elastream/policies/ds2/equations.py",
        before="if unknown or ratio is None or not threshold",
        after="if ratio is None or not threshold",
        test="tests/unit/policies/test_ds2.py::test_while_one_operator_is_unknown_the_healthy_ones_are_not_multiplied",
    ),
    Mutant(
        fault="DS2 for micro-batches takes a half-empty wave for a full one",
        file="src/elastream/policies/ds2/batches.py",
        before="return slots_for(self.work_s, within_s, self.stages) if self.stages else self.work_s / within_s",
        after="return self.work_s / within_s",
        test="tests/stories/test_ds2.py::"
        "test_on_micro_batches_the_published_form_stays_below_need_and_the_one_for_spark_does_not",
    ),
    Mutant(
        fault="DS2 for micro-batches corrects from what it proposes",
        file="src/elastream/policies/ds2/correction.py",
        before="else ratio * pool.slots",
        after="else ratio * (pool.slots - 1)",
        test="tests/unit/policies/test_ds2_batches.py::test_from_the_present_size_the_ratio_multiplies_what_there_is",
    ),
    Mutant(
        fault="DS2 for micro-batches pays for a batch that was late once",
        file="src/elastream/policies/ds2/load.py",
        before="growth = growth if surely_grows(since, now_s, watch.window_s) else 0.0",
        after="pass",
        test="tests/unit/policies/test_ds2_batches.py::"
        "test_one_batch_that_was_late_is_no_shortfall_and_neither_are_batches_that_are_now_more_and_now_less_so",
    ),
    Mutant(
        fault="DS2 for micro-batches shrinks after a single interval",
        file="src/elastream/policies/ds2/policy.py",
        before="max(found[pool.name], min(pool.wanted, most[pool.name]))",
        after="found[pool.name]",
        test="tests/unit/policies/test_ds2_batches.py::test_nothing_shrinks_before_ten_intervals_in_a_row_ask_for_less",
    ),
    Mutant(
        fault="profiling does not pay for workers that are on their way",
        file="src/elastream/policies/phoebe/profiling.py",
        before="return count_paid(now) * (now.at_s",
        after="return sum(pool.ready for pool in now.pools) * (now.at_s",
        test="tests/unit/policies/test_phoebe_profiling.py::"
        "test_profiling_costs_what_is_paid_for_and_workers_on_their_way_are",
    ),
    Mutant(
        fault="Phoebe does not tell how long a recovery takes",
        file="src/elastream/policies/phoebe/policy.py",
        before='evidence["recovery_s"] = self._recovery(',
        after='evidence["recovers_s"] = self._recovery(',
        test="tests/unit/policies/test_phoebe.py::"
        "test_how_long_a_recovery_takes_at_the_chosen_size_is_told_so_that_it_can_be_compared",
    ),
    Mutant(
        fault="all open values are drawn by the same digits, so that they move together",
        file="src/elastream/experiments/plan/draws.py",
        before="find_halton(number, base):.4g",
        after="find_halton(number, 2):.4g",
        test="tests/unit/experiments/test_draws.py::test_everything_runs_in_each_draw_with_its_values",
    ),
    Mutant(
        fault="a setting of an operator is looked for in its pool alone",
        file="src/elastream/simulator/model_settings.py",
        before="yield from (ModelPart(operator.name, OperatorModel, operator) for operator in model.operators)",
        after="yield from ()",
        test="tests/unit/simulator/test_model_settings.py::"
        "test_operators_pools_and_restarts_take_settings_by_their_names",
    ),
    Mutant(
        fault="what a job needs does not count that workers are far from each other",
        file="src/elastream/simulator/continuous/model.py",
        before="speedup - op.delay_cost_rps * apart_ms)",
        after="speedup)",
        test="tests/unit/simulator/test_model_settings.py::"
        "test_workers_far_from_each_other_do_less_so_that_more_of_them_are_needed",
    ),
    Mutant(
        fault="a decision that moves workers between pools leaves no row",
        file="src/elastream/experiments/store/tables.py",
        before="if self._last == (decision.kind, sizes):",
        after="if self._last is not None and sum(self._last[1].values()) == sum(sizes.values()):",
        test="tests/unit/experiments/test_runner.py::"
        "test_a_decision_that_moves_workers_from_one_pool_to_another_is_a_row_of_its_own",
    ),
    Mutant(
        fault="Phoebe profiles a size that is not expected to keep up",
        file="src/elastream/policies/phoebe/policy.py",
        before="if capacity is None or capacity.rps(size) > highest:",
        after="if True:",
        test="tests/unit/policies/test_phoebe_profiling.py::test_a_size_that_is_not_expected_to_keep_up_is_not_tried",
    ),
    Mutant(
        fault="Phoebe profiles on at a size that endangers the SLO",
        file="src/elastream/policies/phoebe/profiling.py",
        before="and (behind or self.is_endangered(queries)):",
        after="and behind:",
        test="tests/unit/policies/test_phoebe_profiling.py::"
        "test_a_size_that_endangers_what_was_promised_is_given_up_at_once_and_smaller_ones_are_not_tried",
    ),
    Mutant(
        fault="Phoebe holds at a size that was only to be tried",
        file="src/elastream/policies/phoebe/policy.py",
        before='profiling["over"] is not None or asked["workers"] >= sizes[0]:',
        after="True:",
        test="tests/unit/policies/test_phoebe_profiling.py::"
        "test_where_what_arrives_is_not_known_any_more_it_goes_back_to_the_greatest_size_and_goes_on_after_that",
    ),
    Mutant(
        fault="Phoebe measures micro-batches from look to look",
        file="src/elastream/policies/phoebe/trial.py",
        before="capacity = _batched(seen) if is_batched(query) else _continuous(",
        after="capacity = _continuous(",
        test="tests/unit/policies/test_phoebe_profiling.py::"
        "test_a_batch_says_what_its_size_can_take_in_by_the_time_that_its_rows_need_of_a_trigger",
    ),
    Mutant(
        fault="Phoebe pays for workers that make no fewer waves of tasks",
        file="src/elastream/policies/phoebe/models.py",
        before="if not stages:\n",
        after="if stages:\n",
        test="tests/unit/policies/test_phoebe.py::test_a_worker_that_makes_no_fewer_waves_of_tasks_counts_for_nothing",
    ),
    Mutant(
        fault="DS2 rounds down",
        file="src/elastream/policies/ds2/equations.py",
        before="sized = math.ceil(unrounded * (1.0 + factor)) or 1",
        after="sized = math.floor(unrounded * (1.0 + factor)) or 1",
        test="tests/unit/policies/test_ds2_equations.py::test_the_sizes_are_those_of_the_authors_policy",
    ),
    Mutant(
        fault="Dhalion's factor lacks its 1, as two of the thesis' equations print it",
        file="src/elastream/policies/dhalion/policy.py",
        before="return 1 + (growth if self.most_growth is None",
        after="return 0 + (growth if self.most_growth is None",
        test="tests/unit/policies/test_dhalion.py::"
        "test_a_fifth_suspended_and_four_fifths_processed_is_a_factor_of_one_and_a_quarter",
    ),
    Mutant(
        fault="Dhalion takes a queue for empty by what comes in, though it is told what the buffer holds",
        file="src/elastream/policies/dhalion/symptoms.py",
        before="    if room is not None:\n",
        after="    if False:\n",
        test="tests/unit/policies/test_dhalion.py::test_a_queue_is_empty_up_to_a_fifth_of_its_buffer_whatever_comes_in",
    ),
    Mutant(
        fault="a lagging source's rate is not held against what busy time promises",
        file="src/elastream/policies/flink_autoscaler/observed_rate.py",
        before="found[operator.name] = promised / observed",
        after="found[operator.name] = 1.0",
        test="tests/unit/policies/test_flink_autoscaler.py::"
        "test_while_a_source_lags_its_rate_counts_more_than_its_busy_time",
    ),
    Mutant(
        fault="HPA has no tolerance",
        file="src/elastream/policies/hpa/behaviour.py",
        before="tolerance: float = setting(0.1,",
        after="tolerance: float = setting(0.0,",
        test="tests/unit/policies/test_hpa.py::"
        "test_the_size_is_the_ceiling_of_n_times_value_over_target_outside_the_tolerance",
    ),
    Mutant(
        fault="Gesscale keeps its public code's maximum in a larger pool",
        file="src/elastream/policies/gesscale/policy.py",
        before="most = pool.max_workers if self.most is None else self.most",
        after="most = 6 if self.most is None else self.most",
        test="tests/stories/test_scaling.py::"
        "test_a_pool_larger_than_the_one_of_the_document_is_used_and_the_documents_bound_is_a_preset",
    ),
    Mutant(
        fault="a policy that falls behind on micro-batches is said to keep up",
        file="src/elastream/policies/micro_batches.py",
        before="late = [one for one in cases if not one.keeps_up]",
        after="late: list[BatchCase] = []",
        test="tests/unit/policies/test_micro_batches.py::test_who_falls_behind_is_misled_by_so_much",
    ),
    Mutant(
        fault="a policy that nobody has measured on micro-batches goes unnoticed",
        file="src/elastream/policies/micro_batches.json",
        before='"hpa-80-learned": {',
        after='"hpa-81": {',
        test="tests/unit/policies/test_micro_batches.py::"
        "test_every_policy_that_runs_on_micro_batches_was_measured_in_every_case",
    ),
    Mutant(
        fault="a plan that only older code has run ends an evaluation",
        file="experiments/replication.py",
        before="        except BadInput as lack:",
        after="        except NotImplementedError as lack:",
        test="tests/unit/experiments/test_all_evaluations.py"
        "::test_a_plan_that_only_older_code_has_run_is_told_and_left_out",
    ),
    Mutant(
        fault="what an autoscaler was not run on by the thesis is left out beside what it was",
        file="experiments/kanis/tables.py",
        before="return [*ran, *({**dict.fromkeys",
        after="return ran or [*ran, *({**dict.fromkeys",
        test="tests/unit/experiments/test_kanis_evaluation.py::"
        "test_autoscalers_that_the_thesis_did_not_run_stand_below_those_that_it_did",
    ),
    Mutant(
        fault="a situation that nothing is told of has rows that were run in another one",
        file="src/elastream/experiments/replication/unscored.py",
        before="for own in labels if situation.items() <= own.items()",
        after="for own in labels",
        test="tests/unit/experiments/test_kanis_evaluation.py::"
        "test_a_table_has_the_rows_that_were_asked_for_and_a_table_stands_for_each_situation",
    ),
    Mutant(
        fault="HPA that knows its ceiling does not heed it",
        file="src/elastream/policies/hpa/behaviour.py",
        before="value >= 0.95 * ceiling else plain",
        after="value > ceiling else plain",
        test="tests/unit/policies/test_hpa.py::test_with_the_ceiling_known_a_saturated_pool_is_doubled",
    ),
    Mutant(
        fault="Dhalion enlarges one operator although several may grow",
        file="src/elastream/policies/dhalion/diagnoses.py",
        before="found if several else found[:1]",
        after="found[:1]",
        test="tests/unit/policies/test_dhalion.py::test_one_bottleneck_at_a_time_unless_several_are_allowed",
    ),
    Mutant(
        fault="Dhalion shrinks by its factor although it is to go by processor use",
        file="src/elastream/policies/dhalion/policy.py",
        before="factor = min(1.0, self._cpu(pool, known) / self.cpu_target)",
        after="factor = min(factor, self._cpu(pool, known) / self._cpu(pool, known))",
        test="tests/unit/policies/test_dhalion.py::test_shrinking_by_processor_use_goes_to_where_the_target_is_met",
    ),
    Mutant(
        fault="DS2 that works off lag forgets the lag that its change makes",
        file="src/elastream/policies/ds2/policy.py",
        before="or 0.0) + total * stopped_s",
        after="or 0.0)",
        test="tests/unit/policies/test_ds2.py::test_lag_is_worked_off_and_so_is_what_the_change_will_add",
    ),
    Mutant(
        fault="sources of Kanis' queries are as slow as what follows them",
        file="src/elastream/simulator/kanis.py",
        before="READ_S, MAP_S, SINK_S = 0.5e-6, 2.5e-6, 2.0e-6",
        after="READ_S, MAP_S, SINK_S = 1.67e-6, 1.67e-6, 1.66e-6",
        test="tests/stories/test_kanis_models.py::"
        "test_quick_sources_make_dhalion_as_large_as_in_the_thesis_and_it_lags_more_than_hpa",
    ),
    Mutant(
        fault="all of an operator's time is seen as busy in Kanis' queries",
        file="src/elastream/simulator/kanis.py",
        before="SEEN = 0.77",
        after="SEEN = 1.0",
        test="tests/stories/test_kanis_models.py::"
        "test_ds2_without_extra_never_works_off_its_lag_and_with_two_fifths_it_does",
    ),
    Mutant(
        fault="DS2 for micro-batches measures within a batch",
        file="src/elastream/policies/ds2/policy.py",
        before="math.ceil(self.interval_s / one) * one for one in periods",
        after="self.interval_s for one in periods",
        test="tests/stories/test_ds2.py::"
        "test_the_form_for_spark_reaches_a_size_that_is_enough_and_stays_there[enrich-70000-60.0-8-1]",
    ),
    Mutant(
        fault="Amadeus keeps its library's maximum in a larger pool",
        file="src/elastream/policies/amadeus.py",
        before="max(1, pool.max_workers if self.most is None else self.most)",
        after="max(1, 10 if self.most is None else self.most)",
        test="tests/stories/test_scaling.py::"
        "test_a_pool_larger_than_the_one_of_the_document_is_used_and_the_documents_bound_is_a_preset",
    ),
    Mutant(
        fault="the thesis' over-provisioning acts before sizes are rounded",
        file="src/elastream/policies/ds2/presets.py",
        before="interval_s=15.0, warm_up_s=0.0, over_provision=1.2,",
        after="interval_s=15.0, warm_up_s=0.0, factor=0.2,",
        test="tests/unit/policies/test_ds2.py::test_the_thesis_multiplies_whole_sizes",
    ),
    Mutant(
        fault="Gesscale removes one worker at a time, as thresholds do",
        file="src/elastream/policies/gesscale/policy.py",
        before="            gone += (leaver,) if leaver else ()\n",
        after="            gone += (leaver,) if leaver else ()\n            break\n",
        test="tests/stories/test_gesscale.py::"
        "test_a_model_removes_several_workers_at_once_and_thresholds_one_after_the_other",
    ),
    Mutant(
        fault="Gesscale's model is never calibrated in full",
        file="src/elastream/estimators/capacity.py",
        before="free_beta = len(points) >= 3 and",
        after="free_beta = False and",
        test="tests/stories/test_gesscale.py::test_with_three_measurements_the_model_is_wrong_by_less_than_two_percent",
    ),
    Mutant(
        fault="Gesscale adds a worker wherever there is room",
        file="src/elastream/policies/gesscale/policy.py",
        before="add_on=(node,) if node else (),",
        after="add_on=(),",
        test="tests/stories/test_gesscale.py::test_who_knows_the_network_peaks_lower_and_changes_less_while_growing",
    ),
    Mutant(
        fault="Gesscale adds the farthest node",
        file="src/elastream/policies/gesscale/nodes.py",
        before="return min(self.free, key=",
        after="return max(self.free, key=",
        test="tests/unit/policies/test_gesscale_nodes.py::test_the_node_that_keeps_the_greatest_delay_least_is_added",
    ),
    Mutant(
        fault="one row of every batch is dropped by the source",
        file="src/elastream/development/embedded_source.py",
        before='first, last, step = start["offset"], end["offset"], parsed.partitions',
        after='first, last, step = start["offset"] + 1, end["offset"], parsed.partitions',
        test="tests/spark/test_exactly_once.py::test_undisturbed_queries_give_every_row_once",
    ),
    Mutant(
        fault="one row of every batch but the first is doubled by the source",
        file="src/elastream/development/embedded_source.py",
        before='first, last, step = start["offset"], end["offset"], parsed.partitions',
        after='first, last, step = max(start["offset"] - 1, 0), end["offset"], parsed.partitions',
        test="tests/spark/test_exactly_once.py::test_undisturbed_queries_give_every_row_once",
    ),
    Mutant(
        fault="one row of the output is dropped",
        file="tests/spark/exactly_once/found.py",
        before="list(committed_files(output)), COLUMNS[name])",
        after="list(committed_files(output)), COLUMNS[name])[1:]",
        test="tests/spark/test_exactly_once.py::test_undisturbed_queries_give_every_row_once",
    ),
    Mutant(
        fault="one row of the output is doubled",
        file="tests/spark/exactly_once/found.py",
        before="    return last_of_each(rows, KEYS[name]) if name in KEYS else rows\n",
        after="    rows = last_of_each(rows, KEYS[name]) if name in KEYS else rows\n"
        "    return np.concatenate([rows, rows[:1]])\n",
        test="tests/spark/test_exactly_once.py::test_undisturbed_queries_give_every_row_once",
    ),
    Mutant(
        fault="the comparison overlooks rows that are there more than once",
        file="tests/spark/exactly_once/comparing.py",
        before="    return Difference(\n",
        after="    times = times.clip(max=0)\n    return Difference(\n",
        test="tests/spark/exactly_once/test_comparing.py::test_one_row_that_is_there_twice_is_noticed_and_named",
    ),
    Mutant(
        fault="a job's output is right whatever rows it lacks",
        file="src/elastream/jobs/judging.py",
        before='return less("expected", "found"), less("found", "expected")',
        after='return 0, less("found", "expected")',
        test="tests/unit/test_judging.py::test_one_row_that_is_missing_is_noticed",
    ),
    Mutant(
        fault="a job's streams share its load in the published proportions, whatever the options say",
        file="src/elastream/jobs/inputs.py",
        before="per_turn(stream.generator, _own(stream, options))",
        after="per_turn(stream.generator, _own(stream, {}))",
        test="tests/unit/test_job_streams.py::test_sellers_who_never_come_are_those_of_the_last_few_auctions",
    ),
    Mutant(
        fault="a job's streams round their rows each by itself, so that some are lost",
        file="src/elastream/jobs/inputs.py",
        before="str(round(rows * end) - round(rows * first))",
        after="str(round(rows * share))",
        test="tests/unit/test_job_streams.py::test_streams_share_the_rows_of_a_job_and_each_may_read_some",
    ),
    Mutant(
        fault="a job's stream with a small share may read nothing in a batch",
        file="src/elastream/jobs/inputs.py",
        before="max(1, round(whole(",
        after="max(0, round(whole(",
        test="tests/unit/test_job_streams.py::test_streams_share_the_rows_of_a_job_and_each_may_read_some",
    ),
    Mutant(
        fault="an option of other events than a job's is passed over in silence",
        file="src/elastream/jobs/inputs.py",
        before="        if name.lower() not in known:\n",
        after="        if False:\n",
        test="tests/unit/test_job_streams.py::test_an_option_that_no_stream_of_the_job_has_is_refused",
    ),
    Mutant(
        fault="an option that a job has decided is taken, and has no effect",
        file="src/elastream/cli/parsing/event_options.py",
        before="{*_FIXED, *(name.lower() for stream in job.streams for name in stream.options)}",
        after="{*_FIXED}",
        test="tests/unit/test_cli_jobs.py::test_what_is_wrong_is_told_in_one_line",
    ),
    Mutant(
        fault="a job's presets of the thesis have as many bids per person as Nexmark",
        file="src/elastream/jobs/nexmark/streams.py",
        before='options["bidProportion"] = str(self.bid_proportion)',
        after="pass",
        test="tests/unit/test_job_streams.py::test_the_thesis_has_ten_bids_for_a_person",
    ),
    Mutant(
        fault="a job's output cannot be read if it is empty",
        file="src/elastream/jobs/output.py",
        before="rows.take(pa.array(sorted(places.values()), pa.int64()))",
        after="rows.take(sorted(places.values()))",
        test="tests/unit/test_judging.py::test_output_of_which_every_file_is_empty_is_no_row_in_either_mode",
    ),
    Mutant(
        fault="a job's stream without events holds the watermark for good",
        file="src/elastream/events/timing.py",
        before="if self.flush_after == 0:",
        after="if False:",
        test="tests/unit/events/test_events.py::test_where_no_event_has_come_those_that_flush_are_an_hour_after_the_beginning",
    ),
    Mutant(
        fault="the job nexmark-q8 tells of a person twice who is there twice",
        file="src/elastream/jobs/nexmark/q8.py",
        before='.dropDuplicates(["id", "name", "window"])',
        after="",
        test="tests/jobs/test_answers.py::test_a_person_who_is_there_twice_is_new_once",
    ),
    Mutant(
        fault="the job wordcount counts what stands between two spaces as a word",
        file="src/elastream/jobs/wordcount.py",
        before="words.where(\"word <> ''\")",
        after="words",
        test="tests/jobs/test_answers.py::test_words_are_what_stands_between_white_space_of_any_kind",
    ),
    Mutant(
        fault="the job wordcount splits at spaces alone",
        file="src/elastream/jobs/wordcount.py",
        before='sf.lit(r"[^\\x20-\\x7E]")',
        after='sf.lit(r"[^\\x00-\\x7E]")',
        test="tests/jobs/test_answers.py::test_words_are_what_stands_between_white_space_of_any_kind",
    ),
    Mutant(
        fault="the job nexmark-q20 leaves out a published column",
        file="src/elastream/jobs/nexmark/q20.py",
        before='            sf.col("extra").alias("auction_extra"),\n',
        after="",
        test="tests/jobs/test_answers.py::test_the_published_columns_come_out",
    ),
    Mutant(
        fault="a job's output may have rows twice",
        file="src/elastream/jobs/judging.py",
        before="EXCEPT ALL",
        after="EXCEPT",
        test="tests/unit/test_judging.py::test_one_row_that_is_there_twice_is_noticed",
    ),
    Mutant(
        fault="the first event that flushes is an event like any other",
        file="src/elastream/events/timing.py",
        before="offsets >= self.flush_after, round",
        after="offsets > self.flush_after, round",
        test="tests/unit/events/test_events.py::test_at_the_end_one_event_per_partition_is_far_ahead",
    ),
    Mutant(
        fault="a total of executors that others have changed stays as they changed it",
        file="src/elastream/spark/scale/executors.py",
        before="again = lacks and",
        after="again = False and",
        test="tests/unit/test_executors.py::test_a_total_that_somebody_else_has_changed_is_asked_for_again_after_a_while",
    ),
    Mutant(
        fault="a death counts as no room",
        file="src/elastream/spark/scale/executors.py",
        before="self.roster.arrived_s, self.roster.left_s)",
        after="self.roster.arrived_s)",
        test="tests/unit/test_executors.py::test_a_death_is_not_taken_for_lack_of_room",
    ),
    Mutant(
        fault="the cluster has no room for those that are starting",
        file="src/elastream/spark/scale/executors.py",
        before="starting = set(self._use.starting)",
        after="starting = set()",
        test="tests/unit/test_executors.py::test_those_that_start_or_leave_take_up_room",
    ),
    Mutant(
        fault="room that was found is forgotten as soon as it is heeded",
        file="src/elastream/spark/scale/roster.py",
        before="(there > self._found or",
        after="(not lacks or there > self._found or",
        test="tests/unit/test_executors.py::test_room_that_was_found_holds_while_it_is_heeded_and_is_asked_for_again_later",
    ),
    Mutant(
        fault="those that leave are replaced",
        file="src/elastream/spark/scale/executors.py",
        before="            totals.append(wanted)",
        after="            pass",
        test="tests/unit/test_executors.py::test_growing_does_not_wait_for_those_that_leave_and_nobody_replaces_them",
    ),
    Mutant(
        fault="growing waits for those that leave",
        file="src/elastream/spark/scale/executors.py",
        before="return sum(name in told for name in registered.leaving)",
        after="return 0",
        test="tests/unit/test_executors.py::test_growing_does_not_wait_for_those_that_leave_and_nobody_replaces_them",
    ),
    Mutant(
        fault="one that leaves late is killed in the middle of a batch",
        file="src/elastream/spark/scale/executors.py",
        before="if late and use.between_batches and not use.retrying:",
        after="if late and not use.retrying:",
        test="tests/unit/test_executors.py::test_one_that_should_have_left_long_ago_costs_no_batch_its_tasks",
    ),
    Mutant(
        fault="a cluster has no room for those that are on their way out",
        file="src/elastream/spark/scale/executors.py",
        before="            len(registered.ids) + len(starting),\n",
        after="            len(registered.ready) + len(starting),\n",
        test="tests/unit/test_executors.py::test_a_cluster_is_not_taken_for_smaller_because_some_are_on_their_way_out",
    ),
    Mutant(
        fault="a clock that was set is not noticed",
        file="src/elastream/spark/observe/observer.py",
        before="if self._ahead_s is None or abs(ahead_s - self._ahead_s) > _CLOCK_JUMP_S:",
        after="if self._ahead_s is None:",
        test="tests/unit/spark/test_observing.py::test_after_the_clock_was_set_a_batch_ended_when_it_did",
    ),
    Mutant(
        fault="a series that is read no more goes on at its last rate",
        file="src/elastream/core/series.py",
        before="        return max(0, bisect_right(self._times, start_s) - 1)",
        after="        return max(0, min(bisect_right(self._times, start_s), len(self._times) - 1) - 1)",
        test="tests/unit/test_series.py"
        "::test_a_series_that_is_read_no_more_has_no_rate_and_no_slope_however_it_went_before",
    ),
    Mutant(
        fault="the arrival curve is thinned at its new end",
        file="src/elastream/spark/observe/arrival_curve.py",
        before="self._points[:half:2] + self._points[half:]",
        after="self._points[:half] + self._points[half::2]",
        test="tests/unit/spark/test_arrivals.py"
        "::test_a_curve_that_was_thinned_tells_delays_of_new_records_exactly_and_of_old_ones_closely",
    ),
    Mutant(
        fault="the arrival curve loses its beginning when it is thinned",
        file="src/elastream/spark/observe/arrival_curve.py",
        before="self._points[:half:2] + self._points[half:]",
        after="self._points[1:half:2] + self._points[half:]",
        test="tests/unit/spark/test_arrivals.py"
        "::test_a_curve_that_was_thinned_tells_delays_of_new_records_exactly_and_of_old_ones_closely",
    ),
    Mutant(
        fault="the driver is never told what was read, and keeps it for ever",
        file="src/elastream/spark/jvm/listener.py",
        before="        self.have_read(seen.note)\n",
        after="",
        test="tests/unit/spark/test_watch.py"
        "::test_what_was_read_is_confirmed_with_the_next_look_so_that_the_driver_can_forget_it",
    ),
    Mutant(
        fault="one that leaves is killed as soon as its long task has ended",
        file="src/elastream/spark/scale/roster.py",
        before="max(told_s, self._busy_s.get(name, told_s))",
        after="told_s",
        test="tests/unit/test_executors.py::test_who_runs_tasks_is_not_stuck_and_has_time_to_move_its_blocks_after_them",
    ),
    Mutant(
        fault="an older answer about executors wins",
        file="src/elastream/spark/scale/executors.py",
        before="self._looking = threading.Lock()",
        after="self._looking = threading.Semaphore(2)",
        test="tests/unit/test_executors.py::test_of_two_that_look_the_older_answer_is_not_noted_last",
    ),
    Mutant(
        fault="a measured model puts the cost of batches on the records",
        file="src/elastream/simulator/stage_costs.py",
        before="_LEAST_SPREAD = 0.1",
        after="_LEAST_SPREAD = 1e9",
        test="tests/unit/simulator/test_measured.py::test_the_costs_of_a_simulated_application_are_found_again",
    ),
    Mutant(
        fault="rows of a static table count as records that arrive",
        file="src/elastream/spark/observe/operators.py",
        before="return StagePlace(reader.name, reader is part)",
        after="return StagePlace(reader.name, True)",
        test="tests/unit/spark/test_operators.py::test_a_table_belongs_to_who_reads_it_and_its_rows_are_no_records",
    ),
    Mutant(
        fault="every action inside foreachBatch counts its records again",
        file="src/elastream/spark/observe/operator_totals.py",
        before="if stage.batch is None or stage.batch != self.batch:",
        after="if True:",
        test="tests/unit/spark/test_works.py::test_a_record_counts_once_in_a_batch_however_often_it_is_read_and_its_time_as_often_as_it_takes",
    ),
    Mutant(
        fault="a measured model puts what is new for executors on the records",
        file="src/elastream/simulator/stage_costs.py",
        before="return warm if warm.sum() >= _LEAST_WARM",
        after="return warm if warm.sum() >= 1_000",
        test="tests/unit/simulator/test_stage_costs.py::test_work_fixed_costs_and_what_is_new_are_told_apart",
    ),
    Mutant(
        fault="a measured model gives every slot a core of its own",
        file="src/elastream/simulator/stage_costs.py",
        before="if left_over < least:",
        after="if left_over < 0:",
        test="tests/unit/simulator/test_stage_costs.py"
        "::test_cores_that_all_workers_share_are_found_and_what_waits_needs_none",
    ),
    Mutant(
        fault="simulated executors are warm from their first task on",
        file="src/elastream/simulator/microbatch/engine.py",
        before="first_s = self._first_task_s(run, len(new))",
        after="first_s = 0.0",
        test="tests/unit/simulator/test_microbatch.py"
        "::test_the_first_task_of_a_stage_takes_longer_on_a_worker_that_was_started",
    ),
    Mutant(
        fault="a rate that failed one of its runs is sustained",
        file="src/elastream/experiments/scalability/search.py",
        before='for rate, states in self._states.items() if "unsustained" in states)',
        after='for rate, states in self._states.items() if states[0] == "unsustained")',
        test="tests/unit/experiments/scalability/test_search.py::test_one_failed_run_of_three_fails_the_rate",
    ),
    Mutant(
        fault="a host that others filled is a limit of the job",
        file="src/elastream/experiments/scalability/probe.py",
        before="return is_innocent and found.host >= _HOST_FULL * terms.host_cores",
        after="return False",
        test="tests/unit/experiments/scalability/test_probe.py::test_a_host_that_others_filled_is_no_limit_of_the_job",
    ),
    Mutant(
        fault="records that still wait have no delay",
        file="src/elastream/experiments/scalability/probe.py",
        before="gone_s = at[np.minimum(taken, len(at) - 1)]",
        after="gone_s = np.where(taken < len(at), at[np.minimum(taken, len(at) - 1)], came_s)",
        test="tests/unit/experiments/scalability/test_probe.py"
        "::test_a_batch_that_never_ends_is_late_though_nothing_is_committed",
    ),
    Mutant(
        fault="a start that takes long is growth",
        file="src/elastream/experiments/scalability/probe.py",
        before="if not found.is_long_enough and (found.lasted_s < _early_s(terms) or not _grows_in_halves(found)):",
        after="if False:",
        test="tests/unit/experiments/scalability/test_probe.py::test_growth_that_ends_is_a_start_and_no_limit",
    ),
    Mutant(
        fault="a layout is foretold however far it is beyond what was measured",
        file="src/elastream/experiments/scalability/laws.py",
        before="BEYOND = 2\n",
        after="BEYOND = 200\n",
        test="tests/unit/experiments/scalability/test_simulated_scaling.py"
        "::test_nothing_is_foretold_beyond_twice_the_largest_layout",
    ),
    Mutant(
        fault="a rate that was sustained has a limit",
        file="src/elastream/experiments/scalability/limits.py",
        before='if verdict.state != "unsustained":',
        after="if False:",
        test="tests/unit/experiments/scalability/test_limits.py"
        "::test_a_start_that_was_not_caught_up_with_is_told_as_that",
    ),
    Mutant(
        fault="as many partitions as slots keep a layout from more",
        file="src/elastream/experiments/scalability/limits.py",
        before='if found.kind == "few-partitions" and (found.useful_slots or 0) >= self._slots:',
        after="if False:",
        test="tests/unit/experiments/scalability/test_limits.py::test_what_was_planted_is_named_first",
    ),
    Mutant(
        fault="a start that was not caught up with is taken for steady lateness",
        file="src/elastream/experiments/scalability/limits.py",
        before="named, *_find_start(moments, terms)]",
        after="named]",
        test="tests/unit/experiments/scalability/test_limits.py"
        "::test_a_start_that_was_not_caught_up_with_is_told_as_that",
    ),
    Mutant(
        fault="what a probe has started lives on",
        file="src/elastream/experiments/scalability/live.py",
        before="os.killpg(process.pid, signal.SIGKILL)",
        after="process.kill()",
        test="tests/unit/experiments/scalability/test_live_probes.py"
        "::test_who_was_started_is_ended_with_all_that_it_started",
    ),
    Mutant(
        fault="an executor takes cores that its layout does not have",
        file="src/elastream/experiments/scalability/host.py",
        before="                    os.sched_setaffinity(thread, own)",
        after="                    pass",
        test="tests/unit/experiments/scalability/test_live_probes.py"
        "::test_an_executor_is_held_to_as_many_cores_as_its_layout_has",
    ),
    Mutant(
        fault="a law is fitted to as many layouts as it has parameters",
        file="src/elastream/experiments/scalability/laws.py",
        before="return len(PARAMETERS[name]) + 2",
        after="return len(PARAMETERS[name])",
        test="tests/unit/experiments/scalability/test_laws.py::test_too_few_layouts_are_said_for_each_law",
    ),
    Mutant(
        fault="slots that sleep make a curve over cores",
        file="src/elastream/experiments/scalability/layout.py",
        before='if work != "emulated" else ():',
        after="if work else ():",
        test="tests/unit/experiments/scalability/test_layout.py::test_slots_that_sleep_say_nothing_about_cores",
    ),
    Mutant(
        fault="probes of one experiment are taken for those of another",
        file="src/elastream/experiments/scalability/store.py",
        before="        if other:\n",
        after="        if False:\n",
        test="tests/unit/experiments/scalability/test_study.py::test_a_folder_holds_one_experiment",
    ),
    Mutant(
        fault="fidelity counts what a live run cost before its load began",
        file="src/elastream/experiments/fidelity/figures.py",
        before="moments = [(0.0, held)]",
        after="moments.append((at_s, held))",
        test="tests/unit/experiments/test_fidelity.py"
        "::test_only_the_time_of_the_load_counts_and_its_begin_is_found_by_what_arrived",
    ),
    Mutant(
        fault="linear in the rate says what the last value says",
        file="src/elastream/experiments/fidelity/predictors.py",
        before="worker_hours=_times(known.worker_hours, longer * ratio),",
        after="worker_hours=_times(known.worker_hours, longer),",
        test="tests/unit/experiments/test_fidelity.py"
        "::test_linear_in_the_rate_is_as_many_times_as_much_as_there_are_records",
    ),
    Mutant(
        fault="a model lets the work on groups grow with the load",
        file="src/elastream/simulator/calibration.py",
        before="return fixed <= _MOST_FIXED * sum(taken)",
        after="return True",
        test="tests/unit/simulator/test_measured.py::test_groups_that_are_as_many_at_any_load_are_a_fixed_cost",
    ),
    Mutant(
        fault="DS2 takes an operator that grew once in vain for serial",
        file="src/elastream/policies/ds2/actions.py",
        before="_DOUBLED, _IN_VAIN = 2.0, 2",
        after="_DOUBLED, _IN_VAIN = 1.0, 2",
        test="tests/stories/test_ds2_replays.py::test_a_rate_that_halves_is_followed_in_two_steps_up_and_two_down",
    ),
    Mutant(
        fault="workers that nobody places stay where they are when all are stopped",
        file="src/elastream/simulator/continuous/restart.py",
        before="if not self._placed:",
        after="if False:",
        test="tests/unit/simulator/test_continuous.py"
        "::test_workers_that_nobody_places_start_anywhere_after_a_change_if_all_are_stopped",
    ),
    Mutant(
        fault="processors that wait for the network count as busy",
        file="src/elastream/simulator/continuous/engine.py",
        before="operator.cpu_share * group.worked",
        after="group.worked",
        test="tests/unit/simulator/test_continuous.py"
        "::test_processors_that_wait_for_the_network_are_idle_though_the_operator_can_do_no_more",
    ),
    Mutant(
        fault="a cluster's secret goes on the driver's command line",
        file="src/elastream/development/cluster/driver.py",
        before="        del settings[SECRET]\n",
        after="",
        test="tests/unit/test_launch_sessions.py"
        "::test_the_secret_of_a_cluster_reaches_the_driver_in_a_file_and_nowhere_else",
    ),
    Mutant(
        fault="a master's address is taken for that of any cluster of one's own",
        file="src/elastream/development/cluster/finder.py",
        before="state.is_up and state.master == url",
        after="state.is_up",
        test="tests/unit/test_clusters.py::test_any_other_url_is_taken_as_it_is",
    ),
    Mutant(
        fault="a table that is grouped beside a stream counts as its state",
        file="src/elastream/launch/partitions.py",
        before="name in _STATEFUL and node.isStreaming()",
        after="name in _STATEFUL",
        test="tests/unit/test_launch_partitions.py::test_state_is_what_stands_on_a_stream",
    ),
    Mutant(
        fault="a start is taken for idleness and shrinks to the minimum",
        file="src/elastream/core/guards/start.py",
        before="        if given is None or waits is None:\n",
        after="        if given is None or waits is not None:\n",
        test="tests/stories/test_trust.py::test_an_application_to_which_nothing_comes_shrinks_although_it_was_never_measured",
    ),
    Mutant(
        fault="the size to begin with is validated and never read",
        file="src/elastream/attachment/entry.py",
        before="            initial=find_initial_size(given),\n",
        after="            initial=None,\n",
        test="tests/unit/test_attachment.py::test_the_size_to_begin_with_is_what_was_set_or_how_the_run_before_ended",
    ),
    Mutant(
        fault="nobody reads the SLO",
        file="src/elastream/policies/pace.py",
        before="bound_s = query.slo.delay_s if query.slo else None",
        after="bound_s = None",
        test="tests/stories/test_trust.py::test_a_looser_slo_costs_fewer_executor_hours_and_each_is_kept",
    ),
    Mutant(
        fault="what waits for longer than the SLO allows counts only when it is committed",
        file="src/elastream/estimators/delay.py",
        before="records=self._records + max(0.0, overdue)",
        after="records=self._records",
        test="tests/unit/test_slo.py::test_what_waits_for_longer_than_the_bound_is_judged_before_it_is_committed",
    ),
    Mutant(
        fault="a broken SLO is told to nobody",
        file="src/elastream/loop/slo_log.py",
        before="            log.warning(",
        after="            log.debug(",
        test="tests/unit/test_slo.py::test_a_promise_that_is_broken_is_told_once_and_so_is_its_recovery",
    ),
    Mutant(
        fault="a load on the edge between two sizes makes executors flap",
        file="src/elastream/core/guards/hysteresis.py",
        before="largest = max([proposed, *within])",
        after="largest = proposed",
        test="tests/stories/test_trust.py::test_a_noisy_load_on_the_edge_between_two_sizes_does_not_flap",
    ),
    Mutant(
        fault="an estimate from little evidence moves the size as far as it likes",
        file="src/elastream/policies/lag_proportional.py",
        before="        if doubts:\n",
        after="        if False:\n",
        test="tests/stories/test_trust.py::test_the_first_small_batches_move_the_size_by_a_step_and_not_to_the_bound",
    ),
    Mutant(
        fault="while a batch hangs, more is said to wait than has come",
        file="src/elastream/policies/lag_proportional.py",
        before="min(since_start, backlog)",
        after="since_start",
        test="tests/stories/test_bottlenecks.py::test_a_batch_that_hangs_makes_no_backlog_of_bursts_that_are_long_over",
    ),
    Mutant(
        fault="the tasks of the running batch tell nothing, however much larger it is than any before",
        file="src/elastream/estimators/batch_history.py",
        before="running = query.running if seen else None",
        after="running = None",
        test="tests/stories/test_leaps.py::"
        "test_a_leap_from_next_to_nothing_grows_by_what_the_tasks_of_the_running_batch_show",
    ),
    Mutant(
        fault="batches that put all of their cost on the rows count as batches that are alike",
        file="src/elastream/estimators/batch_cost.py",
        before="ratio._replace(told_apart=True)",
        after="ratio",
        test="tests/unit/test_batch_cost.py::test_a_fixed_part_below_zero_is_none_and_no_doubt",
    ),
    Mutant(
        fault="a leap is averaged with the calm before it",
        file="src/elastream/policies/lag_proportional.py",
        before="_FAST_S = 5.0",
        after="_FAST_S = 10.0",
        test="tests/stories/test_leaps.py::test_bursts_that_come_again_and_again_are_seen_in_one_look",
    ),
    Mutant(
        fault="the tasks that a job without batches has now are the most that it can ever have",
        file="src/elastream/policies/lag_proportional.py",
        before="if alone and not is_continuous(query) else []",
        after="if alone else []",
        test="tests/stories/test_leaps.py::test_a_job_without_batches_grows_beyond_the_tasks_that_it_has",
    ),
    Mutant(
        fault="a job that a change has stopped is changed again before it runs",
        file="src/elastream/policies/lag_proportional.py",
        before='if query.phase == "restarting" and query.id not in memory:',
        after="if False:",
        test="tests/stories/test_leaps.py::test_a_job_that_a_change_has_stopped_is_not_changed_again_before_it_runs",
    ),
    Mutant(
        fault="a load that leaps is taken for one that keeps up and may be tried on fewer executors",
        file="src/elastream/policies/lag_proportional.py",
        before="if excess or leaps else",
        after="if excess else",
        test="tests/stories/test_leaps.py::test_a_short_burst_after_such_a_calm_is_taken_at_its_full_cost_at_once",
    ),
    Mutant(
        fault="nothing is sure of a first batch, whatever its tasks have shown",
        file="src/elastream/policies/lag_proportional.py",
        before="max(2 * wanted, sure)",
        after="2 * wanted",
        test="tests/stories/test_leaps.py::test_a_start_under_load_grows_before_its_first_batch_has_ended",
    ),
    Mutant(
        fault="the fixed cost of a batch is missing from the sentence",
        file="src/elastream/policies/lag_proportional.py",
        before="{cost.per_batch_s:.1f} + {cost.per_record_s * 1e6:,.1f} us x rows",
        after="{0.0:.1f} + {cost.per_record_s * 1e6:,.1f} us x rows",
        test="tests/stories/test_trust.py::test_the_numbers_of_a_sentence_multiply_to_its_answer",
    ),
    Mutant(
        fault="the live view prints on the console that shows it",
        file="src/elastream/cli/terminal/live_view.py",
        before="        yield from lines\n",
        after="        for line in lines:\n            screen.print(line)\n        yield from lines\n",
        test="tests/unit/test_liveview.py::test_a_run_is_shown_on_a_terminal_from_start_to_end",
    ),
    Mutant(
        fault="an error in drawing ends the run",
        file="src/elastream/cli/terminal/live_view.py",
        before="            self._error = error\n            return\n",
        after="            raise\n",
        test="tests/unit/test_liveview.py::test_an_error_in_drawing_is_told_once_and_the_run_goes_on_in_plain_lines",
    ),
    Mutant(
        fault="the last value is drawn on to the right edge",
        file="src/elastream/cli/terminal/strips.py",
        before="end = width if now_s is None else column_of(now_s, width, duration_s)",
        after="end = width",
        test="tests/unit/test_liveview.py::test_what_has_not_come_yet_is_empty_behind_a_mark",
    ),
    Mutant(
        fault="a broken promise is not shown in red",
        file="src/elastream/cli/terminal/live_picture.py",
        before="style=ALARM if is_broken else",
        after="style=",
        test="tests/unit/test_liveview.py::test_a_broken_promise_and_nothing_else_is_red",
    ),
    Mutant(
        fault="executors are paid for when they are ready, and not from their request",
        file="src/elastream/core/paid.py",
        before="max(pool.requested, pool.ready) + pool.leaving",
        after="pool.ready + pool.leaving",
        test="tests/unit/evaluation/test_measures.py::test_workers_are_paid_for_from_their_request_until_they_have_left",
    ),
    Mutant(
        fault="every pool that a tick changes is an action",
        file="src/elastream/evaluation/actions.py",
        before="self.actions += 1",
        after="self.actions += len(changes)",
        test="tests/unit/evaluation/test_measures.py::test_one_tick_that_changes_several_pools_is_one_action",
    ),
    Mutant(
        fault="a change that has not been carried out counts on every tick",
        file="src/elastream/evaluation/actions.py",
        before="if changes and changes != self._last:",
        after="if changes:",
        test="tests/unit/evaluation/test_measures.py"
        "::test_a_change_that_was_not_carried_out_is_one_action_however_often_it_is_stated",
    ),
    Mutant(
        fault="time in which the SLO is unknown counts as broken",
        file="src/elastream/evaluation/summary.py",
        before="within, typical = StepCurve(series.at, series.within)",
        after="within, typical = StepCurve(series.at, [bool(kept) for kept in series.within])",
        test="tests/unit/evaluation/test_summary.py::test_time_in_which_the_slo_is_unknown_is_neither_kept_nor_broken",
    ),
    Mutant(
        fault="executors are counted while nobody looked",
        file="src/elastream/evaluation/summary.py",
        before="held = None if not attended else held if",
        after="held = held if",
        test="tests/unit/test_page.py"
        "::test_the_summary_counts_workers_while_they_cannot_be_seen_but_not_while_nobody_looked",
    ),
    Mutant(
        fault="the live view knows another number of executors that are wanted than the table",
        file="src/elastream/evaluation/measures.py",
        before="    if tick.decision is not None:\n        return sum",
        after="    if tick.decision is not None and tick.observation is None:\n        return sum",
        test="tests/unit/evaluation/test_measures.py"
        "::test_what_is_wanted_is_what_was_decided_also_while_nothing_is_seen",
    ),
    Mutant(
        fault="how a policy was spelt makes another experiment",
        file="src/elastream/experiments/experiment.py",
        before='written: str = field(default="", compare=False)',
        after='written: str = field(default="")',
        test="tests/unit/experiments/test_experiment.py::test_how_a_policy_was_written_makes_no_other_experiment",
    ),
    Mutant(
        fault="a misspelt name in an experiment goes unnoticed",
        file="src/elastream/experiments/experiment.py",
        before='    _refuse_unknown(document, found.as_json(), "experiment")\n',
        after="",
        test="tests/unit/experiments/test_experiment.py::test_a_slip_in_a_document_is_one_line_that_names_it",
    ),
    Mutant(
        fault="a password among the options of a job is kept with the numbers of a run",
        file="src/elastream/experiments/run_folder.py",
        before='sanitizer().settings(subject["events"])',
        after='subject["events"]',
        test="tests/unit/experiments/test_run_folder.py::test_what_an_option_tells_in_secret_is_not_written_down",
    ),
    Mutant(
        fault="a journal as older versions left it is not found",
        file="src/elastream/experiments/run_folder.py",
        before="for place in (folder, folder / JOURNAL)",
        after="for place in (folder / JOURNAL,)",
        test="tests/unit/experiments/test_run_folder.py"
        "::test_a_journal_beside_its_numbers_is_found_as_older_versions_left_it",
    ),
    Mutant(
        fault="the best run is the one with the fewest executor-hours that were ready",
        file="src/elastream/experiments/run.py",
        before="key=lambda run: run.summary.worker_hours_paid or 0.0",
        after="key=lambda run: run.summary.worker_hours_ready or 0.0",
        test="tests/unit/experiments/test_run_folder.py"
        "::test_the_best_is_the_one_that_paid_for_least_among_those_that_kept_up",
    ),
    Mutant(
        fault="columns give way to stars that nobody draws",
        file="src/elastream/cli/terminal/results.py",
        before="(len(star) if self.best(runs) else 0)",
        after="1",
        test="tests/unit/test_terminal.py::test_simulate_keeps_its_headings_and_digits_whole",
    ),
    Mutant(
        fault="columns of a table are squeezed on a narrow terminal",
        file="src/elastream/cli/terminal/results.py",
        before="        columns.remove(column)\n",
        after="        break\n",
        test="tests/unit/test_terminal.py::test_simulate_keeps_its_headings_and_digits_whole",
    ),
    Mutant(
        fault="the list of commands loads all of them",
        file="src/elastream/cli/command_table.py",
        before="            app.command(name, help=sentence",
        after="            load_command(name)\n            app.command(name, help=sentence",
        test="tests/unit/test_cli.py::test_the_list_of_commands_loads_none_of_them",
    ),
    Mutant(
        fault="the help of a command loads what only a laboratory has",
        file="src/elastream/cli/commands/demo.py",
        before="from elastream.journal.reader import read\n",
        after="from elastream.journal.reader import read\nimport pyspark\n",
        test="tests/unit/test_extras.py::test_the_help_of_every_command_that_lacks_an_extra_is_shown_or_says_which",
    ),
    Mutant(
        fault="a missing extra is an unexpected error",
        file="src/elastream/cli/app.py",
        before="        if module is not None:\n            # An install",
        after="        if False:\n            # An install",
        test="tests/unit/test_extras.py::test_every_command_that_lacks_an_extra_says_which",
    ),
    Mutant(
        fault="a blocked sink is taken for work in progress",
        file="src/elastream/core/bottleneck/batches.py",
        before="    if quiet_s < least_s:\n",
        after="    if quiet_s < least_s or True:\n",
        test="tests/stories/test_bottlenecks.py::test_a_blocked_sink_is_named_and_nothing_grows_until_it_is_free_again",
    ),
    Mutant(
        fault="what executors cannot help is bought all the same",
        file="src/elastream/core/guards/bottleneck.py",
        before="workers is not None and pool.wanted <= workers",
        after="workers is None and pool.wanted <= workers",
        test="tests/stories/test_bottlenecks.py::test_a_blocked_sink_is_named_and_nothing_grows_until_it_is_free_again",
    ),
    Mutant(
        fault="slow tasks on any executor are taken for a hot key",
        file="src/elastream/core/bottleneck/evidence.py",
        before="return not task.records or not task.mean_records or has_most_records(task)",
        after="return True",
        test="tests/unit/test_bottleneck.py::test_slow_tasks_without_more_records_or_on_new_executors_are_no_hot_key",
    ),
    Mutant(
        fault="a query of one partition is bought slots because others have many",
        file="src/elastream/core/guards/demand.py",
        before="min(decision.slots[query], useful.get(query, decision.slots[query]))",
        after="decision.slots[query]",
        test="tests/stories/test_bottlenecks.py::test_a_query_of_one_partition_beside_one_of_many_buys_nothing",
    ),
    Mutant(
        fault="one short batch is evidence enough to stop growth",
        file="src/elastream/core/bottleneck/evidence.py",
        before="if len(batches) < _BATCHES and took_s",
        after="if False and took_s",
        test="tests/unit/test_bottleneck.py::test_less_evidence_than_that_finds_nothing",
    ),
    Mutant(
        fault="a hold starves a query that gets no slot",
        file="src/elastream/core/guards/starvation.py",
        before="self._starves(pool, now, known) if pool.wanted < enough else None",
        after="None",
        test="tests/stories/test_starvation.py::test_an_ad_hoc_job_that_holds_the_only_slot_does_not_starve_a_query",
    ),
    Mutant(
        fault="slots that other work holds are given to no one",
        file="src/elastream/core/guards/starvation.py",
        before="asked * pool.slots_per_worker + others",
        after="asked * pool.slots_per_worker",
        test="tests/stories/test_starvation.py::test_an_ad_hoc_job_that_holds_the_only_slot_does_not_starve_a_query",
    ),
    Mutant(
        fault="steps follow each other before they have arrived",
        file="src/elastream/core/guards/starvation.py",
        before="pool.ready < 1 or pool.in_flux or not self._has_settled(watched, pool, known)",
        after="pool.ready < 1",
        test="tests/unit/guards/test_starvation.py::test_a_step_waits_until_the_last_one_has_arrived_and_settled",
    ),
    Mutant(
        fault="files that wait before the first batch look like an idle source",
        file="src/elastream/spark/observe/file_probe.py",
        before="            return Sample(utc_s, None)\n        if log.files.took_s",
        after='            return Sample(utc_s, {"": 0.0})\n        if log.files.took_s',
        test="tests/unit/spark/test_file_log.py"
        "::test_before_a_batch_has_ended_files_that_wait_are_an_unknown_lag_and_not_none",
    ),
    Mutant(
        fault="files that vanish unread stay a backlog for ever",
        file="src/elastream/spark/observe/file_probe.py",
        before="return files.arrived[0] - files.waiting[0] - later + self._moved",
        after="return sum(sums[0] for number, sums in files.batches.items() if number <= batch) + self._moved",
        test="tests/unit/spark/test_file_log.py"
        "::test_files_that_vanish_unread_are_nobodys_backlog_and_totals_do_not_fall",
    ),
    Mutant(
        fault="tasks that wait for a slot are not seen",
        file="src/elastream/core/observation.py",
        before="max(0, self.tasks - self.done - self.running)",
        after="0",
        test="tests/unit/spark/test_observing.py::"
        "test_tasks_that_run_and_tasks_that_wait_for_a_slot_are_seen_in_the_middle_of_a_batch",
    ),
    Mutant(
        fault="stages beside each other count as if one followed the other",
        file="src/elastream/spark/observe/batch_work.py",
        before="if start >= until:",
        after="if True:",
        test="tests/unit/spark/test_batch_work.py",
    ),
    Mutant(
        fault="the two tasks into which one slot's files are packed keep a query at two executors",
        file="src/elastream/spark/observe/operator_totals.py",
        before="tasks=None if self._is_cut_to_slots(part.name, inputs) else work.tasks",
        after="tasks=work.tasks",
        test="tests/unit/spark/test_file_log.py::test_how_many_tasks_read_files_follows_the_slots_and_is_no_ceiling",
    ),
    Mutant(
        fault="a union with files is held to the tasks into which its files were packed",
        file="src/elastream/spark/observe/operator_totals.py",
        before="for place in self.operators.sources_of(operator) if place < len(inputs)",
        after="for place in self.operators.sources_of(operator)[:1] if place < len(inputs)",
        test="tests/unit/spark/test_reads.py::test_a_union_with_files_has_no_ceiling_since_files_are_cut_to_the_slots",
    ),
    Mutant(
        fault="the sources of a union escape every limit to their partitions",
        file="src/elastream/spark/observe/operator_totals.py",
        before="names = self.operators.readers_of(place)\n",
        after="names = self.operators.readers_of(place, of_nothing_else=True)\n",
        test="tests/unit/spark/test_reads.py::"
        "test_the_sources_of_a_union_have_no_more_slots_to_use_than_the_stage_that_reads_them",
    ),
    Mutant(
        fault="a stage that reads two sources is spread over the tasks of both, counted twice",
        file="src/elastream/policies/flink_autoscaler/policy.py",
        before="if len(own) > 1 and operator.partitions:",
        after="if False:",
        test="tests/unit/policies/test_flink_autoscaler.py::"
        "test_tasks_of_a_stage_that_reads_two_sources_are_counted_once",
    ),
    Mutant(
        fault="what arrives is shared out among readers though each tells what it reads",
        file="src/elastream/policies/ds2/interval.py",
        before="if len(told) == len(readers) and",
        after="if False and",
        test="tests/unit/policies/test_ds2.py::"
        "test_where_it_is_told_which_source_an_operator_reads_it_is_wanted_what_arrives_there",
    ),
    Mutant(
        fault="a journal of an older version is taken for one of other queries",
        file="src/elastream/journal/format.py",
        before=", exclude=_NOT_TOLD)",
        after=")",
        test="tests/unit/test_journal.py::"
        "test_a_query_of_an_older_version_that_did_not_tell_its_sources_is_no_other_query",
    ),
    Mutant(
        fault="a policy learns from the evidence, which is hidden or cut as an explanation may be",
        file="src/elastream/policies/hpa/behaviour.py",
        before='last.note.get("recommended")',
        after='last.evidence.get("recommended")',
        test="tests/contract/test_policies.py::test_evidence_explains_and_nothing_is_learned_from_it[hpa]",
    ),
    Mutant(
        fault="what a policy noted before decisions had notes is lost when its journal is gone on from",
        file="src/elastream/loop/planner.py",
        before='"note": decision.get("evidence", {})',
        after='"note": {}',
        test="tests/unit/policies/test_hpa.py::test_a_recommendation_in_a_snapshot_of_before_decisions_had_notes_counts",
    ),
    Mutant(
        fault="what was carried on too far is called a report",
        file="src/elastream/spark/observe/source_tracker.py",
        before='("extrapolated" if is_old or is_ahead else "reported")',
        after='("extrapolated" if is_old else "reported")',
        test="tests/unit/test_recordings.py::test_what_a_source_reports_is_never_more_than_has_arrived",
    ),
    Mutant(
        fault="an executor that has been told to leave counts as ready",
        file="src/elastream/spark/scale/roster.py",
        before="tuple(name for name in self.ids if name not in leaving)",
        after="self.ids",
        test="tests/unit/test_recordings.py::test_requested_ready_and_leaving_are_different_numbers",
    ),
    Mutant(
        fault="rows of a foreachBatch are counted once per action",
        file="src/elastream/spark/observe/source_tracker.py",
        before='if rows is None or self._probe.arrived_from == "estimated":',
        after="if True:",
        test="tests/unit/test_recordings.py::test_rows_of_a_foreach_batch_are_not_doubled",
    ),
    Mutant(
        fault="a folder that another user made is accepted",
        file="src/elastream/daemons/private_folder.py",
        before="        if found.st_uid != os.getuid():\n            raise _refuse(path, found)\n        yield folder",
        after="        yield folder",
        test="tests/unit/test_other_users.py::test_what_they_put_in_the_place_of_our_folder_is_refused",
    ),
    Mutant(
        fault="a link in the place of our folder is followed",
        file="src/elastream/daemons/private_folder.py",
        before="os.open(path.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=way)",
        after="os.open(path.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=way)",
        test="tests/unit/test_other_users.py::test_what_they_put_in_the_place_of_our_folder_is_refused",
    ),
    Mutant(
        fault="a folder that was open to others is believed",
        file="src/elastream/daemons/private_folder.py",
        before="        if mode & 0o077:",
        after="        if False:",
        test="tests/unit/test_other_users.py::test_a_folder_of_ours_that_was_open_is_not_believed",
    ),
    Mutant(
        fault="a state file that another user wrote is believed",
        file="src/elastream/daemons/private_folder.py",
        before="if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:",
        after="if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:",
        test="tests/unit/test_other_users.py::test_a_folder_of_ours_that_was_open_is_not_believed",
    ),
    Mutant(
        fault="folders above ours may be anybody's",
        file="src/elastream/daemons/private_folder.py",
        before="            _require_firm(path, at, os.fstat(here))\n",
        after="",
        test="tests/unit/test_other_users.py::test_a_folder_in_one_of_theirs_is_refused_for_they_could_exchange_it",
    ),
    Mutant(
        fault="a secret is written into what somebody put there",
        file="src/elastream/daemons/private_folder.py",
        before="    path.unlink(missing_ok=True)\n"
        "    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)",
        after="    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)",
        test="tests/unit/test_other_users.py::test_a_file_is_never_written_through_a_name_that_is_there",
    ),
    Mutant(
        fault="a folder of another user is removed",
        file="src/elastream/daemons/state_folder.py",
        before="            with private_folder(self.path):\n                self._remove_large()",
        after="            if True:\n                self._remove_large()",
        test="tests/unit/test_other_users.py::test_a_folder_of_theirs_is_not_removed_not_even_when_asked_for_twice",
    ),
    Mutant(
        fault="a runtime directory of another user is used",
        file="src/elastream/daemons/state_folder.py",
        before="        with private_folder(path):\n            return path",
        after="        if path.is_dir():\n            return path\n        return None",
        test="tests/unit/test_other_users.py::test_a_runtime_directory_of_theirs_is_not_used",
    ),
    Mutant(
        fault="what grows is put into the runtime directory",
        file="src/elastream/daemons/state_folder.py",
        before="        if self.path.parent == runtime_directory():",
        after="        if False:",
        test="tests/unit/test_cluster_folder.py"
        "::test_a_cluster_that_stays_lies_in_the_runtime_directory_and_what_grows_does_not",
    ),
    Mutant(
        fault="a process of another owner is ended",
        file="src/elastream/daemons/processes.py",
        before="if started_at(self.pid) != self.started or owner_of(self.pid) != self.owner:",
        after="if started_at(self.pid) != self.started:",
        test="tests/unit/test_cluster_processes.py::test_a_process_of_another_owner_or_command_is_not_signalled",
    ),
    Mutant(
        fault="a process of another command is ended",
        file="src/elastream/daemons/processes.py",
        before="return not self.command or _ends_with(self.pid, self.command)",
        after="return True",
        test="tests/unit/test_cluster_processes.py::test_a_process_of_another_owner_or_command_is_not_signalled",
    ),
    Mutant(
        fault="whoever has the master's port is believed",
        file="src/elastream/daemons/ports.py",
        before="    return not sockets.isdisjoint(_open_files(owner.pid))",
        after="    return True",
        test="tests/unit/test_cluster_status.py::test_another_process_on_its_port_is_neither_asked_nor_believed",
    ),
    Mutant(
        fault="kill links of the driver are on",
        file="src/elastream/development/cluster/daemon_settings.py",
        before='"spark.ui.killEnabled": "false",\n        # Each',
        after="# Each",
        test="tests/unit/test_cluster_settings.py::test_nobody_can_end_anything_on_a_page",
    ),
    Mutant(
        fault="kill links of the master are on",
        file="src/elastream/development/cluster/daemon_settings.py",
        before='"spark.ui.killEnabled": "false",\n        "spark.master.ui',
        after='"spark.master.ui',
        test="tests/unit/test_cluster_settings.py::test_nobody_can_end_anything_on_a_page",
    ),
    Mutant(
        fault="pages with logs are shown to everybody",
        file="src/elastream/development/cluster/daemon_settings.py",
        before='        "spark.ui.filters": PAGE_FILTER,\n',
        after="",
        test="tests/unit/test_cluster_settings.py::test_nobody_can_end_anything_on_a_page",
    ),
    Mutant(
        fault="all clusters have the same secret",
        file="src/elastream/development/cluster/daemon_settings.py",
        before="SECRET: secrets.token_hex(32),",
        after='SECRET: "0123456789abcdef" * 4,',
        test="tests/unit/test_cluster_settings.py::test_every_cluster_has_secrets_of_its_own",
    ),
    Mutant(
        fault="all clusters show their pages for the same key",
        file="src/elastream/development/cluster/daemon_settings.py",
        before="secrets.token_bytes(32)",
        after="bytes(range(32))",
        test="tests/unit/test_cluster_settings.py::test_every_cluster_has_secrets_of_its_own",
    ),
    Mutant(
        fault="processes of other users are counted as executors",
        file="src/elastream/spark/observe/host_usage.py",
        before=".stat().st_uid == self._owner_id",
        after=".stat().st_uid >= 0",
        test="tests/unit/spark/test_usage.py::test_a_process_of_another_user_is_not_counted_whatever_it_calls_itself",
    ),
    Mutant(
        fault="processes of other applications are counted as executors",
        file="src/elastream/spark/observe/host_usage.py",
        before='said.get("--app-id") == self._application',
        after="self._application in words",
        test="tests/unit/spark/test_usage.py::test_a_process_that_only_names_the_application_is_not_counted",
    ),
    Mutant(
        fault="the hash of a jar is not looked at",
        file="src/elastream/development/kafka/jars.py",
        before="        if found != known[jar.name]:",
        after="        if False:",
        test="tests/unit/test_kafka_jars.py::test_jars_that_are_not_those_of_the_list_are_not_used",
    ),
    Mutant(
        fault="a jar that Maven brings is kept whatever it is",
        file="src/elastream/development/kafka/jars.py",
        before="    _checked(name, _in(jars), f\"Maven's",
        after="    str(f\"Maven's",
        test="tests/unit/test_kafka_jars.py::test_a_repository_that_has_another_jar_is_told_and_its_jar_not_kept",
    ),
    Mutant(
        fault="a prepared lock of a journal empties another file",
        file="src/elastream/journal/folder_lock.py",
        before="os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK",
        after="os.O_RDWR | os.O_CREAT",
        test="tests/unit/test_other_users.py::test_a_lock_of_a_journal_that_they_prepared_empties_no_file_of_ours",
    ),
    Mutant(
        fault="what another user wrote into a journal is learned from",
        file="src/elastream/journal/resume.py",
        before="(owner := file.lstat().st_uid) != os.getuid()",
        after="(owner := file.lstat().st_uid) < 0",
        test="tests/unit/test_other_users.py::test_what_they_wrote_into_our_journal_is_not_learned_from",
    ),
    Mutant(
        fault="a stage has worked for as long as its last task",
        file="src/elastream/spark/jvm/Tally.java",
        before="runMs += metrics.executorRunTime();",
        after="runMs = metrics.executorRunTime();",
        test="tests/spark/test_events.py"
        "::test_an_operator_has_done_what_its_tasks_have_done_and_those_that_failed_have_done_nothing",
    ),
    Mutant(
        fault="tasks that failed count as done",
        file="src/elastream/spark/jvm/Ledger.java",
        before="        } else {\n            stage.lostTasks++;",
        after="        } else {\n            stage.done++;\n            stage.lostTasks++;",
        test="tests/spark/test_events.py"
        "::test_an_operator_has_done_what_its_tasks_have_done_and_those_that_failed_have_done_nothing",
    ),
    Mutant(
        fault="milliseconds of tasks are taken for seconds",
        file="src/elastream/spark/jvm/snapshot_parser.py",
        before="        return (_number(raw, key) or 0.0) / 1000\n",
        after="        return _number(raw, key) or 0.0\n",
        test="tests/spark/test_events.py"
        "::test_an_operator_has_done_what_its_tasks_have_done_and_those_that_failed_have_done_nothing",
    ),
    Mutant(
        fault="driver time falls when the clock is set during a batch",
        file="src/elastream/spark/observe/query_tracker.py",
        before="driver_s = max(0.0, duration_s - united_s(work.spans))",
        after="driver_s = duration_s - united_s(work.spans)",
        test="tests/unit/spark/test_forgetting.py"
        "::test_a_batch_whose_stages_took_longer_than_itself_by_the_clock_takes_no_driver_time_back",
    ),
    Mutant(
        fault="queries that have ended are remembered for ever",
        file="src/elastream/spark/observe/observer.py",
        before="if place >= _MOST_REMEMBERED or at_s - ended_s > _REMEMBERED_AFTER_END_S:",
        after="if False:",
        test="tests/unit/spark/test_forgetting.py::test_queries_that_have_ended_are_forgotten",
    ),
    Mutant(
        fault="batches whose end was never told are kept",
        file="src/elastream/spark/observe/query_tracker.py",
        before="while len(self._batches) > _MAX_BATCHES:",
        after="while False:",
        test="tests/unit/spark/test_forgetting.py"
        "::test_batches_are_forgotten_when_they_have_ended_and_when_their_end_was_never_told",
    ),
    Mutant(
        fault="batches that have ended are kept",
        file="src/elastream/spark/observe/query_tracker.py",
        before="for batch, kept in self._batches.items() if batch > number}",
        after="for batch, kept in self._batches.items()}",
        test="tests/unit/spark/test_forgetting.py"
        "::test_batches_are_forgotten_when_they_have_ended_and_when_their_end_was_never_told",
    ),
    Mutant(
        fault="the end of a task brings its stage back for ever",
        file="src/elastream/spark/jvm/Ledger.java",
        before="if (stage == null && begins && owners.containsKey(Integer.valueOf(id))) {",
        after="if (stage == null) {",
        test="tests/spark/test_events.py::test_lost_starts_of_jobs_leave_nothing_behind_though_tasks_are_told_long_after",
    ),
    Mutant(
        fault="a task told after its stage counts for nobody",
        file="src/elastream/spark/jvm/Ledger.java",
        before="            stage.owner = owner(id);\n            stage.open = false;",
        after="            stage.owner = new Tally.Owner(-1, null);\n            stage.open = false;",
        test="tests/spark/test_events.py"
        "::test_tasks_told_after_their_stage_count_for_their_query_and_make_looks_no_longer",
    ),
    Mutant(
        fault="whose a stage is, is remembered for ever",
        file="src/elastream/spark/jvm/Ledger.java",
        before="owners = new Plans.Kept(MOST_OWNERS);",
        after="owners = new LinkedHashMap();",
        test="tests/spark/test_events.py::test_lost_starts_of_jobs_leave_nothing_behind_though_tasks_are_told_long_after",
    ),
    Mutant(
        fault="a task whose end was lost is busy for ever",
        file="src/elastream/spark/jvm/Ledger.java",
        before="if (withTasks && stage.running > 0) {",
        after="if (false) {",
        test="tests/spark/test_events.py"
        "::test_a_task_whose_end_was_lost_is_busy_until_its_stage_ends_and_is_counted_as_lost",
    ),
    Mutant(
        fault="an end that was lost is not counted",
        file="src/elastream/spark/jvm/Ledger.java",
        before="            tasks.remove();\n            lost++;",
        after="            tasks.remove();",
        test="tests/spark/test_events.py"
        "::test_a_task_whose_end_was_lost_is_busy_until_its_stage_ends_and_is_counted_as_lost",
    ),
    Mutant(
        fault="busy time follows a clock that can be set",
        file="src/elastream/spark/jvm/Ledger.java",
        before="        long now = clock.upMs();\n        late.clear();",
        after="        long now = clock.utcMs();\n        late.clear();",
        test="tests/spark/test_events.py::test_slots_stay_busy_while_the_clock_is_set_back_and_forth",
    ),
    Mutant(
        fault="a task that is told twice counts twice",
        file="src/elastream/spark/jvm/Ledger.java",
        before="if (!tasksOver.add(info.taskId()) && !begun) {",
        after="if (false) {",
        test="tests/spark/test_events.py::test_an_output_that_is_lost_with_its_executor_does_not_count_its_task_twice",
    ),
    Mutant(
        fault="partitions of topics that were deleted are kept",
        file="src/elastream/spark/observe/source_tracker.py",
        before="for name in self._partitions.keys() - names:",
        after="for name in ():",
        test="tests/unit/spark/test_kafka_log.py"
        "::test_after_a_month_of_hourly_topics_a_source_has_the_partitions_of_two_hours_and_all_of_its_records",
    ),
    Mutant(
        fault="records of topics that were deleted are taken off the totals",
        file="src/elastream/spark/observe/source_tracker.py",
        before="            self._gone += gone.committed\n",
        after="",
        test="tests/unit/spark/test_kafka_log.py"
        "::test_after_a_month_of_hourly_topics_a_source_has_the_partitions_of_two_hours_and_all_of_its_records",
    ),
    Mutant(
        fault="offsets of topics that were deleted are remembered",
        file="src/elastream/spark/observe/kafka_probe.py",
        before="for name in known.keys() - names:",
        after="for name in ():",
        test="tests/unit/spark/test_kafka_log.py"
        "::test_after_a_month_of_hourly_topics_a_source_has_the_partitions_of_two_hours_and_all_of_its_records",
    ),
    Mutant(
        fault="a batch told late brings a deleted topic back",
        file="src/elastream/spark/observe/source_tracker.py",
        before="if name in self._partitions or not self._probed:",
        after="if True:",
        test="tests/unit/spark/test_kafka_log.py"
        "::test_a_batch_that_is_told_of_after_a_topic_of_it_is_gone_counts_nothing_twice",
    ),
    Mutant(
        fault="busy time goes with an executor that is forgotten",
        file="src/elastream/spark/jvm/Ledger.java",
        before="        goneBusyMs += worker.busyMs;\n",
        after="",
        test="tests/spark/test_events.py"
        "::test_executors_that_come_and_go_for_long_are_forgotten_and_their_time_is_kept",
    ),
    Mutant(
        fault="the application's own pattern of secrets does not reach its journal",
        file="src/elastream/attachment/entry.py",
        before="    use_pattern(conf.pop(REDACTION, None))",
        after="    conf.pop(REDACTION, None)",
        test="tests/unit/test_attachment.py"
        "::test_what_is_secret_in_the_application_is_so_in_its_journal_log_and_status",
    ),
    Mutant(
        fault="a bearer token passes",
        file="src/elastream/core/secret_patterns.py",
        before=r"(?i)(\bbearer\s+)",
        after=r"(?i)(\bbarer\s+)",
        test="tests/unit/test_sanitizer.py::test_a_secret_is_hidden_and_the_rest_can_be_read",
    ),
    Mutant(
        fault="a password in an address passes",
        file="src/elastream/core/secret_patterns.py",
        before='in _ADDRESSES if "@" in text else ()',
        after="in ()",
        test="tests/unit/test_sanitizer.py::test_a_secret_is_hidden_and_the_rest_can_be_read",
    ),
    Mutant(
        fault="a token of digits passes for a count",
        file="src/elastream/core/secret_patterns.py",
        before='r"tokens|token[._',
        after='r"token|token[._',
        test="tests/unit/test_sanitizer.py::test_a_secret_is_hidden_and_the_rest_can_be_read",
    ),
    Mutant(
        fault="a secret ends at its first comma",
        file="src/elastream/core/secret_patterns.py",
        before=r"(?:(?:Basic|Bearer|Digest|Negotiate)\s+)?\S+?(?={_END})",
        after=r"(?:(?:Basic|Bearer|Digest|Negotiate)\s+)?[^\s,]+?(?=,|{_END})",
        test="tests/unit/test_sanitizer.py::test_a_secret_is_hidden_and_the_rest_can_be_read",
    ),
    Mutant(
        fault="a query called password-resets makes every sentence about it a secret",
        file="src/elastream/core/secret_patterns.py",
        before="_COUNTED.search(key) is None and _NAME_AT_END.search(key) is not None",
        after="_COUNTED.search(key) is None",
        test="tests/unit/test_sanitizer.py::test_what_is_no_secret_stays",
    ),
    Mutant(
        fault="logs tell secrets",
        file="src/elastream/core/log.py",
        before="log.addFilter(SafeRecords())",
        after="",
        test="tests/unit/test_sanitizer.py::test_every_line_of_the_log_is_fit",
    ),
    Mutant(
        fault="a status tells secrets",
        file="src/elastream/loop/controller.py",
        before="tick = sanitize_tick(",
        after="tick = (lambda same: same)(",
        test="tests/unit/test_secrets_everywhere.py::test_journals_logs_status_and_lines_of_a_run",
    ),
    Mutant(
        fault="errors tell secrets",
        file="src/elastream/core/errors.py",
        before="clip(sanitizer().line(super().__str__()))",
        after="clip(super().__str__())",
        test="tests/unit/test_sanitizer.py::test_every_error_of_ours_is_fit",
    ),
    Mutant(
        fault="a journal that others wrote is told with its secrets",
        file="src/elastream/journal/reader.py",
        before="return sanitize_line(line) if isinstance(line, dict) else None",
        after="return line if isinstance(line, dict) else None",
        test="tests/unit/test_secrets_everywhere.py::test_a_journal_that_was_written_without_care_is_read_with_care",
    ),
    Mutant(
        fault="an escape sequence passes to the terminal in a table",
        file="src/elastream/cli/terminal/output.py",
        before="Segment(visible(segment.text), segment.style)",
        after="segment",
        test="tests/unit/test_terminal_safety.py::test_what_is_shown_of_others_is_text",
    ),
    Mutant(
        fault="an escape sequence in a decision passes in what a run says",
        file="src/elastream/launch/telling.py",
        before="sanitizer().line(line).split()",
        after="line.split()",
        test="tests/unit/test_terminal_safety.py::test_what_is_shown_of_others_is_text",
    ),
    Mutant(
        fault="text from outside is read as markup",
        file="src/elastream/cli/terminal/output.py",
        before="        markup=False,",
        after="        markup=True,",
        test="tests/unit/test_terminal_safety.py::test_what_is_shown_of_others_is_text",
    ),
    Mutant(
        fault="the key of a keystore leaves the JVM",
        file="src/elastream/spark/jvm/Queries.java",
        before="if (ours || TOLD.matcher((String) entry.getKey()).matches()) {",
        after="if (true) {",
        test="tests/jobs/test_topology.py::test_options_that_nobody_reads_and_what_a_query_observes_stay_in_the_jvm",
    ),
    Mutant(
        fault="rows that a query observes leave the JVM",
        file="src/elastream/spark/jvm/Progress.java",
        before='            all.remove("observedMetrics");\n',
        after="",
        test="tests/jobs/test_topology.py::test_options_that_nobody_reads_and_what_a_query_observes_stay_in_the_jvm",
    ),
    Mutant(
        fault="the end of a stage that is told late counts as lost",
        file="src/elastream/spark/jvm/Ledger.java",
        before="        unended.remove(stage.key());\n",
        after="",
        test="tests/spark/test_events.py"
        "::test_a_stage_whose_end_is_told_after_that_of_its_job_is_late_and_one_that_is_never_told_is_lost",
    ),
    Mutant(
        fault="a journal that names a module has it imported",
        file="src/elastream/journal/replay.py",
        before='if ":" in name and name not in trusted:',
        after="if False:",
        test="tests/unit/test_foreign_runs.py::test_a_journal_alone_has_nothing_imported",
    ),
    Mutant(
        fault="the folder of a command is on Python's path before a class is asked for",
        file="src/elastream/core/module_search.py",
        before="            _folders.append(folder)",
        after="            _folders.append(folder)\n            import sys; sys.path.append(folder)",
        test="tests/unit/test_foreign_runs.py::test_no_command_looks_there_unless_a_class_is_named",
    ),
    Mutant(
        fault="a package takes the name of a policy of ours",
        file="src/elastream/registry/plugins.py",
        before="if self.is_ours(name):",
        after="if False:",
        test="tests/unit/test_foreign.py::test_a_name_of_ours_is_never_given_to_others",
    ),
    Mutant(
        fault="one plugin that cannot be loaded breaks the list of policies",
        file="src/elastream/registry/plugins.py",
        before="        except BadInput:\n            return None",
        after="        except KeyError:\n            return None",
        test="tests/unit/test_foreign.py::test_what_cannot_be_loaded_is_told_once_and_left_out",
    ),
    Mutant(
        fault="a class of others that is no policy is taken for one",
        file="src/elastream/registry/foreign.py",
        before="    if lacking:",
        after="    if False:",
        test="tests/unit/test_foreign.py::test_what_is_wrong_with_a_class_is_told_in_one_line",
    ),
    Mutant(
        fault="guards of others are configured and never asked",
        file="src/elastream/core/guards/__init__.py",
        before="(*names[:place], *others, *names[place:])",
        after="names",
        test="tests/unit/test_foreign_runs.py::test_a_guard_and_a_workload_of_others_take_part",
    ),
    Mutant(
        fault="a probe of others that fails ends the look",
        file="src/elastream/spark/observe/probe_register.py",
        before="            except Exception as wrong:\n                failure",
        after="            except KeyError as wrong:\n                failure",
        test="tests/unit/spark/test_foreign_probes.py::test_what_fails_in_a_probe_of_others_is_unknown_and_told_once",
    ),
    Mutant(
        fault="a policy that reads a file passes for pure",
        file="src/elastream/testing/purity.py",
        before="if event.startswith(_FORBIDDEN):",
        after="if False:",
        test="tests/unit/testing/test_contract.py::test_what_reads_a_file_is_not_pure",
    ),
    Mutant(
        fault="the contract does not see a guard that changes sizes without a word",
        file="src/elastream/testing/guard_contract.py",
        before="noted = sizes == result.allocation",
        after="noted = True",
        test="tests/unit/testing/test_contract.py::test_what_is_broken_is_told_in_one_line",
    ),
    Mutant(
        fault="the contract does not see a memory that grows without end",
        file="src/elastream/testing/policy_contract.py",
        before="bounded = sizes[-1] <= 2 * max(sizes[: len(looks)]) + 100",
        after="bounded = True",
        test="tests/unit/testing/test_contract.py::test_what_is_broken_is_told_in_one_line",
    ),
    Mutant(
        fault="a public signature changes unawares",
        file="src/elastream/journal/replay.py",
        before="    trusted: Collection[str] = (),\n) -> Replayed:",
        after="    trusted: Collection[str] = (),\n    more: int = 0,\n) -> Replayed:",
        test="tests/unit/test_public_api.py::test_signatures_change_on_purpose_only",
    ),
    Mutant(
        fault="dir shows what is not public",
        file="src/elastream/__init__.py",
        before="    return list(__all__)",
        after="    return list(globals())",
        test="tests/unit/test_public_api.py::test_dir_shows_the_public_names_and_nothing_else",
    ),
    Mutant(
        fault="a later session that does not suit ends queries that run",
        file="src/elastream/launch/sessions.py",
        before="        if self._telling.ticks:\n",
        after="        if False:\n",
        test="tests/unit/test_launch_sessions.py::test_a_later_session_that_does_not_suit_ends_no_queries_that_run",
    ),
    Mutant(
        fault="every session that foreachBatch makes is followed anew",
        file="src/elastream/launch/sessions.py",
        before="if spark._sc is not self._context:",
        after="if True:",
        test="tests/unit/test_launch_sessions.py"
        "::test_sessions_that_foreach_batch_makes_are_of_an_application_that_is_followed_already",
    ),
    Mutant(
        fault="a device or a pipe is read as a file",
        file="src/elastream/core/input_file.py",
        before="if not stat.S_ISREG(kind):",
        after="if False:",
        test="tests/unit/test_input_file.py::test_devices_pipes_and_folders_are_no_files",
    ),
    Mutant(
        fault="a text without an end is read to it",
        file="src/elastream/core/input_file.py",
        before="if len(content) > MOST_BYTES:",
        after="if False:",
        test="tests/unit/test_input_file.py::test_no_text_is_read_that_is_longer_than_texts_are",
    ),
    Mutant(
        fault="an experiment that makes no sense is believed",
        file="src/elastream/experiments/store/stored_files.py",
        before="    form.model_validate(document)\n",
        after="",
        test="tests/unit/experiments/test_forged_runs.py::test_an_experiment_that_makes_no_sense_is_damaged",
    ),
    Mutant(
        fault="what others wrote into a folder of runs is shown as it is",
        file="src/elastream/experiments/store/stored_files.py",
        before="= sanitizer().texts(document)",
        after="= document",
        test="tests/unit/experiments/test_forged_runs.py::test_texts_of_others_hold_no_secret_and_steer_nothing",
    ),
    Mutant(
        fault="reasons and errors in tables of others are shown as they are",
        file="src/elastream/experiments/store/stored_files.py",
        before="return sanitizer().line(value) if isinstance(value, str) else value",
        after="return value",
        test="tests/unit/experiments/test_forged_runs.py::test_texts_of_others_hold_no_secret_and_steer_nothing",
    ),
    Mutant(
        fault="a small table that stands for billions of rows is read",
        file="src/elastream/experiments/store/stored_files.py",
        before="num_rows) > MOST_ROWS:",
        after="num_rows) < 0:",
        test="tests/unit/experiments/test_forged_runs.py::test_a_table_that_stands_for_millions_of_rows_is_damaged",
    ),
    Mutant(
        fault="plans that include each other are all read",
        file="src/elastream/experiments/plan/reader.py",
        before="if len(loaded) > MOST_INCLUDES:",
        after="if len(through) > MOST_INCLUDES:",
        test="tests/unit/experiments/test_forged_runs.py"
        "::test_plans_that_include_each_other_twice_at_every_level_are_not_all_read",
    ),
    Mutant(
        fault="whom we have killed is counted in the total",
        file="src/elastream/spark/scale/executors.py",
        before="self.roster.told_to_go_s.keys() - self.roster.killed",
        after="self.roster.told_to_go_s.keys()",
        test="tests/unit/test_executors.py"
        "::test_whom_we_have_killed_the_master_has_counted_out_and_nobody_more_is_started",
    ),
    Mutant(
        fault="after three early deaths no executor is ever asked for again",
        file="src/elastream/spark/scale/executors.py",
        before="self.roster.died_young(self._clock.now_s() - self._limits.ask_again_s)",
        after="self.roster.died_young(0.0)",
        test="tests/unit/test_executors.py::test_after_a_while_executors_that_died_at_once_are_asked_for_again",
    ),
    Mutant(
        fault="an executor that came as another left took no time to come",
        file="src/elastream/spark/scale/roster.py",
        before="begun_s is not None and not gone:",
        after="begun_s is not None:",
        test="tests/unit/test_executors.py::test_one_that_came_while_another_left_does_not_say_how_long_executors_take",
    ),
    Mutant(
        fault="a cluster that has got more room is taken for a small one",
        file="src/elastream/spark/scale/roster.py",
        before="(there > self._found or self.get(now_s) is None)",
        after="self.get(now_s) is None",
        test="tests/unit/test_executors.py::test_a_cluster_that_has_got_more_room_is_not_taken_for_a_small_one",
    ),
    Mutant(
        fault="a batch that has ended runs on",
        file="src/elastream/spark/observe/query_tracker.py",
        before='if self._progress is not None and number <= int(self._progress["batchId"]):',
        after="if False:",
        test="tests/unit/spark/test_forgetting.py::test_a_batch_that_is_told_of_does_not_run_any_more",
    ),
    Mutant(
        fault="tasks of stages that are passed over wait",
        file="src/elastream/spark/observe/query_tracker.py",
        before="    return any(o.job == stage.job",
        after="    return False and any(o.job == stage.job",
        test="tests/unit/spark/test_forgetting.py::test_tasks_of_a_stage_that_is_passed_over_do_not_wait",
    ),
    Mutant(
        fault="a batch that comes again after a restart counts its first run too",
        file="src/elastream/spark/observe/query_tracker.py",
        before="        self._batches.clear()\n",
        after="",
        test="tests/unit/spark/test_forgetting.py"
        "::test_of_a_batch_that_comes_again_after_a_restart_only_its_last_run_counts",
    ),
    Mutant(
        fault="what a run has lost its successor has lost too",
        file="src/elastream/spark/observe/query_tracker.py",
        before="        self._lost_until = -1\n        self._works.restart()",
        after="        self._works.restart()",
        test="tests/unit/spark/test_forgetting.py::test_what_a_run_has_lost_its_successor_has_not",
    ),
    Mutant(
        fault="who was late once rests longer for good",
        file="src/elastream/loop/controller.py",
        before="        self._rest_s = self.tick_s\n        return due_s",
        after="        return due_s",
        test="tests/unit/test_controller.py"
        "::test_ticks_that_are_late_again_begin_with_a_short_rest_as_the_first_ones_did",
    ),
    Mutant(
        fault="a machine that was asleep makes up for all its ticks",
        file="src/elastream/loop/controller.py",
        before="return due_s + self.tick_s if due_s + self.tick_s > now_s else now_s + self.tick_s",
        after="return due_s + self.tick_s",
        test="tests/unit/test_controller.py::test_a_machine_that_was_asleep_is_looked_at_once_for_all_that_was_missed",
    ),
    Mutant(
        fault="what a start has grown to counts as given",
        file="src/elastream/core/guards/start.py",
        before='memory["given"] or now.wanted()',
        after="now.wanted()",
        test="tests/unit/guards/test_start.py"
        "::test_what_it_was_given_is_what_it_began_with_and_not_what_it_has_grown_to",
    ),
    Mutant(
        fault="records that come do not end idleness",
        file="src/elastream/core/guards/start.py",
        before='before["since_s"] if still else now_s',
        after='before["since_s"]',
        test="tests/unit/guards/test_start.py::test_a_query_is_idle_only_from_when_the_last_records_came",
    ),
    Mutant(
        fault="starvation grows for a query that executors cannot help",
        file="src/elastream/core/guards/starvation.py",
        before='if query.phase != "terminated" and query.id not in limited:',
        after='if query.phase != "terminated":',
        test="tests/unit/guards/test_starvation.py::test_a_query_whose_read_limit_binds_is_no_reason_to_grow",
    ),
    Mutant(
        fault="of the states of several queries the last one counts",
        file="src/elastream/core/guards/state_floor.py",
        before="total += reading.value",
        after="total = reading.value",
        test="tests/unit/guards/test_state_floor.py::test_the_states_of_all_queries_must_fit_together",
    ),
    Mutant(
        fault="a shrink that was in vain is never made up for",
        file="src/elastream/core/guards/hysteresis.py",
        before="max(1.0, factor / 2)",
        after="factor",
        test="tests/unit/guards/test_hysteresis.py::test_a_shrink_that_has_lasted_makes_up_for_one_that_was_in_vain",
    ),
    Mutant(
        fault="a size that was only held counts as needed",
        file="src/elastream/core/guards/hysteresis.py",
        before='last is not None and last.kind != "hold" and last.made_s',
        after="last is not None and last.made_s",
        test="tests/unit/guards/test_hysteresis.py::test_a_size_that_was_held_for_want_of_knowledge_was_not_needed",
    ),
    Mutant(
        fault="a copy of a script's process ends its parent's cluster",
        file="src/elastream/launch/sessions.py",
        before="if os.getpid() != self._process:",
        after="if False:",
        test="tests/unit/test_launch_sessions.py"
        "::test_a_copy_that_a_script_has_made_of_its_process_ends_nothing_of_its_parents",
    ),
    Mutant(
        fault="code of an archive runs if its manifest is silent about it",
        file="src/elastream/experiments/bundle/check.py",
        before="""manifest["code"] or sorted(_find_classes([run.document for run in packed.values()])):""",
        after="""manifest["code"]:""",
        test="tests/unit/experiments/test_bundle.py::test_code_that_a_manifest_is_silent_about_is_not_run_either",
    ),
    Mutant(
        fault="an archive is unpacked however much it says that it holds",
        file="src/elastream/experiments/bundle/archive.py",
        before="min(MOST_BYTES, MOST_TIMES * file.stat().st_size)",
        after="MOST_BYTES",
        test="tests/unit/experiments/test_bundle.py::test_an_archive_that_would_fill_a_disk_is_not_unpacked",
    ),
    Mutant(
        fault="the defaults of Spark win over the command line",
        file="src/elastream/launch/setting_up.py",
        before="            conf |= spark_arguments([value])",
        after="            conf = spark_arguments([value]) | conf",
        test="tests/unit/test_launch_outside.py::test_a_later_place_wins_over_an_earlier_one",
    ),
    Mutant(
        fault="what could not be attached stays in the application",
        file="src/elastream/attachment/entry.py",
        before="        except BaseException:\n            platform.close()",
        after="        except BaseException:\n            pass",
        test="tests/unit/test_attachment.py::test_what_a_policy_lacks_leaves_nothing_behind_in_the_application",
    ),
    Mutant(
        fault="an error is broken in the middle of a word",
        file="src/elastream/cli/terminal/output.py",
        before="        print_line(error_console(), text)",
        after='        sys.stderr.write(f"{text}\\n")',
        test="tests/unit/test_terminal.py::test_an_error_breaks_between_words",
    ),
)


def main() -> int:
    """Kill every mutant, and say who did it."""
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.fault for word in sys.argv[1:])]
    if not chosen:
        print(f"mutants: none is called by {' '.join(sys.argv[1:])!r}")
        return 2
    sound = sorted({mutant.test for mutant in chosen})
    print(f"{len(chosen)} mutants; first, that {len(sound)} tests pass without them ...", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        code, output = run(sound, copied(Path(folder) / "sound"))
        if code != PASSED:
            print(output)
            print("mutants: the named tests do not pass on the unchanged tree")
            return 1
        with ThreadPoolExecutor(WORKERS) as pool:
            numbers = range(len(chosen))
            verdicts = list(pool.map(lambda number: plant(number, chosen[number], Path(folder)), numbers))
    skipped = verdicts.count(NOT_TRIED)
    print(f"{verdicts.count(DIED)} of {len(chosen)} mutants died{f', {skipped} not tried' if skipped else ''}")
    return 0 if verdicts.count(DIED) + skipped == len(chosen) else 1


def plant(number: int, mutant: Mutant, folder: Path) -> str:
    """Plant one fault, run the test that must notice, and say what came of it."""
    tree = copied(folder / str(number))
    file = tree / mutant.file
    text = file.read_text()
    if text.count(mutant.before) != 1:
        print(f"{BROKEN:9} {mutant.fault}: {mutant.file} has the text to change {text.count(mutant.before)} times")
        return BROKEN
    file.write_text(text.replace(mutant.before, mutant.after))
    code, output = run([mutant.test], tree)
    shutil.rmtree(tree)
    # A machine that lacks what the test needs shows nothing, neither way.
    was_skipped = code == PASSED and " passed" not in output
    verdict = NOT_TRIED if was_skipped else DIED if code == FAILED else SURVIVED
    print(f"{verdict:9} {mutant.fault}\n          by {mutant.test}", flush=True)
    if verdict == SURVIVED:
        print(output)
    return verdict


def copied(to: Path) -> Path:
    """A copy of what tests need."""
    to.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, to / name)
    return to


def run(tests: list[str], tree: Path) -> tuple[int, str]:
    """Run tests on a tree; the copy's sources come before the installed ones."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout[-2000:] + done.stderr[-500:]


if __name__ == "__main__":
    sys.exit(main())
