package elastream;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.executor.TaskMetrics;

/**
 * What is counted: stages, the tasks that run, and executors.
 *
 * Compiled in the driver by Janino: no generics, no lambdas. What it compiles apart is in packages apart, whatever
 * they are called; therefore all is public.
 */
public class Tally {
    /** Whose a job is. */
    public static class Owner {
        public final int job;
        public final String query;
        public final String batch;
        public final String execution;
        public final String root;

        public Owner(int job, Properties given) {
            this.job = job;
            this.query = given == null ? null : given.getProperty("sql.streaming.queryId");
            this.batch = given == null ? null : given.getProperty("streaming.sql.batchId");
            this.execution = given == null ? null : given.getProperty("spark.sql.execution.id");
            String root = given == null ? null : given.getProperty("spark.sql.execution.root.id");
            this.root = root == null ? execution : root;
        }
    }

    public static class Stage {
        public final int id;
        public final int attempt;
        public final int tasks;
        public final Owner owner;
        public long submittedMs = 0;
        public long endedMs = 0;
        public boolean failed = false;
        public boolean own = false;
        public int asked = 0;
        public int running = 0;
        public int done = 0;
        public int lostTasks = 0;
        public long longestMs = 0;
        public long longestRecords = 0;
        public long oldestMs = 0;
        public long runMs = 0;
        public long deserialiseMs = 0;
        public long serialiseMs = 0;
        public long cpuNs = 0;
        public long gcMs = 0;
        public long fetchMs = 0;
        public long writeNs = 0;
        public long lostMs = 0;
        public long read = 0;
        public long fetched = 0;
        public long shuffled = 0;
        public long written = 0;
        public List matches = new ArrayList();

        public Stage(int id, int attempt, int tasks, Owner owner) {
            this.id = id;
            this.attempt = attempt;
            this.tasks = tasks;
            this.owner = owner;
        }

        public String key() {
            return id + "." + attempt;
        }

        public Stage late() {
            Stage stage = new Stage(id, attempt, 0, owner);
            stage.submittedMs = submittedMs;
            stage.endedMs = endedMs;
            stage.failed = failed;
            stage.own = own;
            stage.matches = matches;
            return stage;
        }

        public void add(TaskMetrics metrics, boolean successful) {
            long held = metrics.executorRunTime() + metrics.executorDeserializeTime()
                + metrics.resultSerializationTime();
            if (!successful) {
                lostMs += held;
                return;
            }
            runMs += metrics.executorRunTime();
            deserialiseMs += metrics.executorDeserializeTime();
            serialiseMs += metrics.resultSerializationTime();
            cpuNs += metrics.executorCpuTime();
            gcMs += metrics.jvmGCTime();
            fetchMs += metrics.shuffleReadMetrics().fetchWaitTime();
            writeNs += metrics.shuffleWriteMetrics().writeTime();
            read += metrics.inputMetrics().recordsRead();
            fetched += metrics.shuffleReadMetrics().recordsRead();
            shuffled += metrics.shuffleWriteMetrics().recordsWritten();
            written += metrics.outputMetrics().recordsWritten();
        }

        /** One that has ended; of equal ones the first, so that a busy minute does not name another each time. */
        public void took(long heldMs, TaskMetrics metrics) {
            if (heldMs > longestMs) {
                longestMs = heldMs;
                longestRecords = metrics == null ? 0
                    : metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead();
            }
        }

        public Map map(long note, Map used) {
            Map map = new LinkedHashMap();
            map.put("note", Long.valueOf(note));
            map.put("stage", Integer.valueOf(id));
            map.put("attempt", Integer.valueOf(attempt));
            map.put("job", Integer.valueOf(owner.job));
            map.put("query", owner.query);
            map.put("batch", owner.batch);
            map.put("submitted_ms", Long.valueOf(submittedMs));
            map.put("ended_ms", Long.valueOf(endedMs));
            map.put("failed", Boolean.valueOf(failed));
            map.put("tasks", Integer.valueOf(tasks));
            map.put("running", Integer.valueOf(running));
            map.put("done", Integer.valueOf(done));
            map.put("lost_tasks", Integer.valueOf(lostTasks));
            map.put("longest_ms", Long.valueOf(longestMs));
            map.put("longest_records", Long.valueOf(longestRecords));
            map.put("oldest_ms", Long.valueOf(oldestMs));
            map.put("run_ms", Long.valueOf(runMs));
            map.put("deserialise_ms", Long.valueOf(deserialiseMs));
            map.put("serialise_ms", Long.valueOf(serialiseMs));
            map.put("cpu_ms", Long.valueOf(cpuNs / 1000000));
            map.put("gc_ms", Long.valueOf(gcMs));
            map.put("fetch_ms", Long.valueOf(fetchMs));
            map.put("write_ms", Long.valueOf(writeNs / 1000000));
            map.put("lost_ms", Long.valueOf(lostMs));
            map.put("read", Long.valueOf(read));
            map.put("fetched", Long.valueOf(fetched));
            map.put("shuffled", Long.valueOf(shuffled));
            map.put("written", Long.valueOf(written));
            List found = new ArrayList();
            for (Iterator each = matches.iterator(); each.hasNext();) {
                found.add(((Plans.Match) each.next()).map(used));
            }
            map.put("matches", found);
            return map;
        }
    }

    public static class Task {
        public final long id;
        public final Stage stage;
        public final Worker worker;
        public final long launchMs;

        public Task(long id, Stage stage, Worker worker, long launchMs) {
            this.id = id;
            this.stage = stage;
            this.worker = worker;
            this.launchMs = launchMs;
        }
    }

    public static class Worker {
        public final String host;
        public final Map tasks = new LinkedHashMap();
        public int cores = 0;
        public long addedMs = 0;
        public long removedMs = 0;
        public String reason = null;
        public long firstMs = 0;
        public long busyMs = 0;
        public long shownMs = 0;
        public long ended = 0;
        public long failed = 0;
        public long records = 0;

        public Worker(String host) {
            this.host = host;
        }

        public Map map(long now) {
            int other = 0;
            long runningMs = 0;
            for (Iterator each = tasks.values().iterator(); each.hasNext();) {
                Task task = (Task) each.next();
                other += task.stage.owner.query == null ? 1 : 0;
                runningMs += Math.max(0, now - task.launchMs);
            }
            shownMs = Math.max(shownMs, busyMs + runningMs);
            Map map = new LinkedHashMap();
            map.put("host", host);
            map.put("cores", Integer.valueOf(cores));
            map.put("added_ms", Long.valueOf(addedMs));
            map.put("removed_ms", Long.valueOf(removedMs));
            map.put("reason", reason);
            map.put("first_task_ms", Long.valueOf(firstMs));
            map.put("running", Integer.valueOf(tasks.size() - other));
            map.put("other_running", Integer.valueOf(other));
            map.put("tasks", Long.valueOf(ended));
            map.put("failed", Long.valueOf(failed));
            map.put("busy_ms", Long.valueOf(shownMs));
            map.put("records", Long.valueOf(records));
            return map;
        }
    }
}
