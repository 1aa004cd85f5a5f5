package elastream;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.TaskInfo;

/**
 * What is counted: stages, the tasks that run, and executors.
 *
 * Compiled in the driver by Janino: no generics, no lambdas. What it compiles apart is in packages apart, whatever
 * they are called; therefore all is public.
 */
public class Tally {
    public static class Clock {
        /** Milliseconds that pass whatever is done to the time of day. */
        public long upMs() {
            return System.nanoTime() / 1000000;
        }

        public long utcMs() {
            return System.currentTimeMillis();
        }
    }

    /** Whose a job is. */
    public static class Owner {
        public final int job;
        public final String query;
        public final String batch;
        public final String execution;
        public final String root;
        private final long number;

        public Owner(int job, Properties given) {
            this.job = job;
            this.query = given == null ? null : given.getProperty("sql.streaming.queryId");
            this.batch = given == null ? null : given.getProperty("streaming.sql.batchId");
            this.execution = given == null ? null : given.getProperty("spark.sql.execution.id");
            String root = given == null ? null : given.getProperty("spark.sql.execution.root.id");
            this.root = root == null ? execution : root;
            this.number = batch != null && batch.matches("\\d{1,18}") ? Long.parseLong(batch) : -1;
        }

        /** Whether that job has ended, a later batch of the query has begun, or that query has ended. */
        public boolean isOver(int endedJob, Owner next, String endedQuery) {
            return (endedJob >= 0 && job == endedJob)
                || (query != null && query.equals(endedQuery))
                || (query != null && next != null && query.equals(next.query)
                    && number >= 0 && number < next.number);
        }
    }

    /** Which numbers of a sequence have come; those long before the newest count as if they had. */
    public static class Ids {
        private static final int MOST = 1 << 20;
        private BitSet known = new BitSet();
        private long first = 0;

        public boolean has(long id) {
            return id < first || (id - first < MOST && known.get((int) (id - first)));
        }

        /** Whether it is new. */
        public boolean add(long id) {
            if (has(id)) {
                return false;
            }
            if (id - first >= MOST) {
                long from = id - MOST / 2;
                known = from - first < MOST ? known.get((int) (from - first), MOST) : new BitSet();
                first = from;
            }
            known.set((int) (id - first));
            return true;
        }
    }

    public static class Stage {
        public final int id;
        public final int attempt;
        public int tasks = 0;
        public Owner owner = null;
        public long submittedMs = 0;
        public long endedMs = 0;
        public boolean failed = false;
        public boolean open = true;
        public boolean own = false;
        public int asked = 0;
        public int running = 0;
        public int done = 0;
        public int lostTasks = 0;
        /** When it began, by a clock that nobody sets; -1: it was not told. */
        public long beganMs = -1;
        /** Whether its tasks would rather run in certain places. */
        public boolean prefers = false;
        /** For how long a slot was free at most while one of its tasks waited. */
        public long unusedMs = 0;
        public long longestMs = 0;
        public long longestRecords = 0;
        public long oldestMs = 0;
        public long runMs = 0;
        public long deserialiseMs = 0;
        public long serialiseMs = 0;
        public long fetchMs = 0;
        public long lostMs = 0;
        public long read = 0;
        public long fetched = 0;
        public long shuffled = 0;
        public long written = 0;
        public long cpuNs = 0;
        public long gcMs = 0;
        public long writeNs = 0;
        public long delayMs = 0;
        public long spilled = 0;
        public List matches = new ArrayList();

        public Stage(int id, int attempt) {
            this.id = id;
            this.attempt = attempt;
        }

        public String key() {
            return id + "." + attempt;
        }

        /** For tasks that are told after it has ended. */
        public Stage late(long nowMs) {
            Stage stage = new Stage(id, attempt);
            stage.owner = owner;
            stage.submittedMs = submittedMs;
            stage.endedMs = endedMs > 0 ? endedMs : nowMs;
            stage.failed = failed;
            stage.own = own;
            stage.prefers = prefers;
            stage.matches = matches;
            return stage;
        }

        public void add(TaskMetrics metrics, boolean successful) {
            if (!successful) {
                lostMs += held(metrics);
                return;
            }
            runMs += metrics.executorRunTime();
            deserialiseMs += metrics.executorDeserializeTime();
            serialiseMs += metrics.resultSerializationTime();
            fetchMs += metrics.shuffleReadMetrics().fetchWaitTime();
            read += metrics.inputMetrics().recordsRead();
            fetched += metrics.shuffleReadMetrics().recordsRead();
            shuffled += metrics.shuffleWriteMetrics().recordsWritten();
            written += metrics.outputMetrics().recordsWritten();
            cpuNs += cpuNs(metrics);
            gcMs += metrics.jvmGCTime();
            writeNs += metrics.shuffleWriteMetrics().writeTime();
            spilled += metrics.diskBytesSpilled();
        }

        /** From its launch to its end, by the driver's clock, less what its executor and the way of its result took. */
        public void delayed(TaskInfo info, TaskMetrics metrics) {
            long told = info.gettingResultTime() > 0 ? info.gettingResultTime() : info.finishTime();
            if (info.launchTime() > 0 && told > info.launchTime()) {
                delayMs += Math.max(0, told - info.launchTime() - held(metrics));
            }
        }

        /** A task of it begins, and a slot has been free since then. */
        public void began(long nowMs, long freeSinceMs) {
            if (beganMs >= 0) {
                unusedMs = Math.max(unusedMs, nowMs - Math.max(beganMs, freeSinceMs));
            }
        }

        /** One that has ended; of equal ones the first, so that a busy minute does not name another each time. */
        public void took(TaskMetrics metrics) {
            if (held(metrics) > longestMs) {
                longestMs = held(metrics);
                longestRecords = metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead();
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
            map.put("fetch_ms", Long.valueOf(fetchMs));
            map.put("lost_ms", Long.valueOf(lostMs));
            map.put("read", Long.valueOf(read));
            map.put("fetched", Long.valueOf(fetched));
            map.put("shuffled", Long.valueOf(shuffled));
            map.put("written", Long.valueOf(written));
            map.put("cpu_ms", Long.valueOf(cpuNs / 1000000));
            map.put("gc_ms", Long.valueOf(gcMs));
            map.put("write_ms", Long.valueOf(writeNs / 1000000));
            map.put("delay_ms", Long.valueOf(delayMs));
            map.put("spilled", Long.valueOf(spilled));
            map.put("prefers", Boolean.valueOf(prefers));
            map.put("unused_ms", Long.valueOf(unusedMs));
            List found = new ArrayList();
            for (Iterator each = matches.iterator(); each.hasNext();) {
                found.add(((Plans.Match) each.next()).map(used));
            }
            map.put("matches", found);
            return map;
        }
    }

    /** Time for which a task held its slot, by the clock of its executor; 0 where it was not told. */
    public static long held(TaskMetrics metrics) {
        return metrics == null ? 0
            : metrics.executorRunTime() + metrics.executorDeserializeTime() + metrics.resultSerializationTime();
    }

    /** Processor time of a task's thread, by its executor; what other threads and processes did for it is not in it. */
    public static long cpuNs(TaskMetrics metrics) {
        return metrics == null ? 0 : metrics.executorCpuTime() + metrics.executorDeserializeCpuTime();
    }

    public static class Task {
        public final long id;
        public final Stage stage;
        public final Worker worker;
        public final long beganMs;
        /** Whether it is of no query, as far as was known when it began. */
        public final boolean other;
        public long missedMs = 0;

        public Task(long id, Stage stage, Worker worker, long beganMs) {
            this.id = id;
            this.stage = stage;
            this.worker = worker;
            this.beganMs = beganMs;
            this.other = stage.owner.query == null;
        }
    }

    /** An executor. Its busy time is counted while tasks run, so that it cannot be more than its slots have had. */
    public static class Worker {
        public final String host;
        public final Map tasks = new LinkedHashMap();
        public int cores;
        public long removedMs = 0;
        public long firstMs = 0;
        public long busyMs = 0;
        public long otherBusyMs = 0;
        public long records = 0;
        /** Of its heap, as of its last heartbeat with a task; 0 before. */
        public long heapBytes = 0;
        /** Of tasks that have ended: time for which they held a slot, and processor time of their threads. */
        private long heldMs = 0;
        private long cpuNs = 0;
        private final long sinceMs;
        private long countedMs;
        private int others = 0;

        public Worker(String host, int cores, long nowMs) {
            this.host = host;
            this.cores = cores;
            this.sinceMs = nowMs;
            this.countedMs = nowMs;
        }

        public void begin(Task task, long nowMs) {
            count(nowMs);
            tasks.put(Long.valueOf(task.id), task);
            others += task.other ? 1 : 0;
        }

        public void end(Task task, long nowMs) {
            count(nowMs);
            if (tasks.remove(Long.valueOf(task.id)) != null) {
                others -= task.other ? 1 : 0;
            }
        }

        public void count(long nowMs) {
            long forMs = Math.max(0, nowMs - countedMs);
            busyMs += forMs * Math.min(cores, tasks.size());
            otherBusyMs += forMs * Math.min(cores, others);
            countedMs = Math.max(countedMs, nowMs);
        }

        /** A task that was not seen to begin held a slot so long, or as long as its slots were free since we watch. */
        public void add(long heldMs, boolean other, long nowMs) {
            count(nowMs);
            long free = cores * (countedMs - sinceMs) - busyMs;
            long more = Math.max(0, Math.min(heldMs, free));
            busyMs += more;
            otherBusyMs += other ? more : 0;
        }

        public void ended(TaskMetrics metrics) {
            heldMs += held(metrics);
            cpuNs += cpuNs(metrics);
        }

        public Map map() {
            int running = Math.min(cores, tasks.size());
            int other = Math.min(cores, others);
            Map map = new LinkedHashMap();
            map.put("host", host);
            map.put("removed_ms", Long.valueOf(removedMs));
            map.put("first_task_ms", Long.valueOf(firstMs));
            map.put("running", Integer.valueOf(running - other));
            map.put("other_running", Integer.valueOf(other));
            map.put("busy_ms", Long.valueOf(busyMs));
            map.put("records", Long.valueOf(records));
            map.put("heap_bytes", Long.valueOf(heapBytes));
            map.put("held_ms", Long.valueOf(heldMs));
            // A thread that a task held a slot for used no more than that, whatever clocks say.
            map.put("cpu_ms", Long.valueOf(Math.min(cpuNs / 1000000, busyMs)));
            return map;
        }
    }
}
