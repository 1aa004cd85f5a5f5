package elastream;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Adds up what tasks report, inside the driver, and gives it away once per look.
 *
 * What has ended waits as a numbered note until a later look says that it was read, so that a lost answer loses
 * nothing; what runs is in every look. Nothing here throws into Spark's event queue. Compiled in the driver by Janino:
 * no generics, no lambdas.
 */
public class Watch extends SparkListener {
    /** Notes that nobody fetches, plans that never end, executors that are gone: kept up to here. */
    private static final int MOST_NOTES = 4000;
    private static final int MOST_KEPT = 256;
    private static final int MOST_VERSIONS = 16;
    private static final String QUEUE = "elastream";
    private static final Pattern OPERATOR = Pattern.compile("opId = (\\d+)");
    private static final Pattern ATTRIBUTE = Pattern.compile("#(\\d+)");

    private final SparkContext context;
    private final Supplier queries;
    private final ObjectMapper json = new ObjectMapper();
    private final ArrayDeque notes = new ArrayDeque();
    private final Map owners = new HashMap();
    private final Map stages = new LinkedHashMap();
    private final Map ended = new Kept();
    private final Map executions = new Kept();
    private final Map shapes = new Kept();
    private final Map executors = new LinkedHashMap();
    private final Map running = new LinkedHashMap();
    private long lastNote = 0;
    private int lastShape = 0;
    private long busyMs = 0;
    private long otherBusyMs = 0;
    private long shownBusyMs = 0;
    private long lost = 0;
    private long failures = 0;
    private String failure = null;

    public Watch(SparkContext context, Supplier queries) {
        this.context = context;
        this.queries = queries;
    }

    /** Listen, on a queue of our own: what we do delays no other listener. */
    public void install() {
        synchronized (this) {
            scala.collection.Iterator known = context.statusStore().executorList(true).iterator();
            while (known.hasNext()) {
                org.apache.spark.status.api.v1.ExecutorSummary one =
                    (org.apache.spark.status.api.v1.ExecutorSummary) known.next();
                if (!one.id().equals("driver")) {
                    Worker worker = worker(one.id(), one.hostPort().replaceAll(":\\d+$", ""));
                    worker.cores = one.totalCores();
                    worker.addedMs = one.addTime().getTime();
                }
            }
        }
        context.listenerBus().addToQueue(this, QUEUE);
    }

    public void remove() {
        context.removeSparkListener(this);
    }

    /** Everything since the note that was read last, as JSON. */
    public String look(long read) throws Exception {
        long began = System.nanoTime();
        Object live = queries.get();
        Map all;
        synchronized (this) {
            while (!notes.isEmpty() && ((Note) notes.peek()).number <= read) {
                notes.poll();
            }
            all = everything();
        }
        all.putAll((Map) live);
        all.put("dropped", dropped());
        all.put("took_us", Long.valueOf((System.nanoTime() - began) / 1000));
        return json.writeValueAsString(all);
    }

    private Map everything() {
        long now = System.currentTimeMillis();
        Map all = new LinkedHashMap();
        all.put("version", Integer.valueOf(1));
        all.put("at_ms", Long.valueOf(now));
        all.put("application", context.applicationId());
        all.put("note", Long.valueOf(lastNote));
        all.put("lost", Long.valueOf(lost));
        all.put("failures", Long.valueOf(failures));
        all.put("failure", failure);
        long runningMs = 0;
        for (Iterator tasks = running.values().iterator(); tasks.hasNext();) {
            runningMs += Math.max(0, now - ((Task) tasks.next()).launchMs);
        }
        // An event may come after the task has been seen to run longer than it did.
        shownBusyMs = Math.max(shownBusyMs, busyMs + runningMs);
        all.put("busy_ms", Long.valueOf(shownBusyMs));
        all.put("other_busy_ms", Long.valueOf(otherBusyMs));
        Map workers = new LinkedHashMap();
        for (Iterator entries = executors.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            workers.put(entry.getKey(), ((Worker) entry.getValue()).map(now));
        }
        all.put("executors", workers);
        Map used = new LinkedHashMap();
        List listed = new ArrayList();
        List events = new ArrayList();
        for (Iterator each = notes.iterator(); each.hasNext();) {
            Note note = (Note) each.next();
            if (note.stage == null) {
                events.add(note.map());
            } else {
                listed.add(note.stage.map(note.number, used));
            }
        }
        for (Iterator each = stages.values().iterator(); each.hasNext();) {
            listed.add(((Stage) each.next()).map(0, used));
        }
        all.put("stages", listed);
        all.put("events", events);
        all.put("shapes", used);
        return all;
    }

    /** Events that Spark threw away because its queue to us was full. */
    private Object dropped() {
        try {
            String name = "queue." + QUEUE + ".numDroppedEvents";
            return Long.valueOf(context.listenerBus().metrics().metricRegistry().counter(name).getCount());
        } catch (Throwable problem) {
            return null;
        }
    }

    public void onJobStart(SparkListenerJobStart event) {
        try {
            jobStarted(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onJobEnd(SparkListenerJobEnd event) {
        try {
            jobEnded(event.jobId());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        try {
            stageSubmitted(event.stageInfo(), event.properties());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onStageCompleted(SparkListenerStageCompleted event) {
        try {
            stageEnded(event.stageInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onTaskStart(SparkListenerTaskStart event) {
        try {
            taskStarted(event.stageId(), event.stageAttemptId(), event.taskInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onTaskEnd(SparkListenerTaskEnd event) {
        try {
            taskEnded(event.stageId(), event.stageAttemptId(), event.taskInfo(), event.taskMetrics());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        try {
            executorAdded(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        try {
            executorRemoved(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public void onOtherEvent(SparkListenerEvent event) {
        try {
            other(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    private synchronized void jobStarted(SparkListenerJobStart event) {
        Owner owner = new Owner(event.jobId(), event.properties());
        scala.collection.Iterator infos = event.stageInfos().iterator();
        while (infos.hasNext()) {
            StageInfo info = (StageInfo) infos.next();
            owners.put(Integer.valueOf(info.stageId()), owner);
            stage(info.stageId(), info.attemptNumber(), info.numTasks());
        }
    }

    private synchronized void jobEnded(int job) {
        // Those of its stages that were never submitted have been skipped.
        for (Iterator each = stages.values().iterator(); each.hasNext();) {
            Stage stage = (Stage) each.next();
            if (stage.owner.job == job && stage.submittedMs == 0) {
                each.remove();
            }
        }
        for (Iterator each = owners.values().iterator(); each.hasNext();) {
            if (((Owner) each.next()).job == job) {
                each.remove();
            }
        }
    }

    private synchronized void stageSubmitted(StageInfo info, Properties properties) {
        Integer id = Integer.valueOf(info.stageId());
        if (!owners.containsKey(id)) {
            owners.put(id, new Owner(-1, properties));
        }
        Stage stage = stage(info.stageId(), info.attemptNumber(), info.numTasks());
        stage.submittedMs = time(info.submissionTime());
    }

    private synchronized void stageEnded(StageInfo info) {
        Stage stage = stage(info.stageId(), info.attemptNumber(), info.numTasks());
        stage.submittedMs = time(info.submissionTime());
        stage.endedMs = time(info.completionTime());
        stage.failed = info.failureReason().isDefined();
        TreeSet ids = new TreeSet();
        scala.collection.Iterator keys = info.accumulables().keysIterator();
        while (keys.hasNext()) {
            ids.add(keys.next());
        }
        match(stage, ids, true);
        stages.remove(stage.key());
        ended.put(stage.key(), stage);
        add(new Note(stage));
    }

    private synchronized void taskStarted(int stageId, int attempt, TaskInfo info) {
        Stage stage = stage(stageId, attempt, 0);
        Worker worker = worker(info.executorId(), info.host());
        if (worker.firstMs == 0) {
            worker.firstMs = info.launchTime();
        }
        // The end of a task may be told after the start of the next in its slot.
        if (worker.cores > 0 && worker.tasks.size() >= worker.cores) {
            forget((Task) worker.tasks.values().iterator().next());
        }
        Task task = new Task(info.taskId(), stage, worker, info.launchTime());
        running.put(Long.valueOf(task.id), task);
        worker.tasks.put(Long.valueOf(task.id), task);
        stage.running++;
    }

    private void forget(Task task) {
        if (running.remove(Long.valueOf(task.id)) != null) {
            task.worker.tasks.remove(Long.valueOf(task.id));
            task.stage.running--;
        }
    }

    private synchronized void taskEnded(int stageId, int attempt, TaskInfo info, TaskMetrics metrics) {
        Task task = (Task) running.get(Long.valueOf(info.taskId()));
        if (task != null) {
            forget(task);
        }
        Stage stage = (Stage) ended.get(stageId + "." + attempt);
        if (stage == null) {
            stage = stage(stageId, attempt, 0);
        } else {
            // Told after its stage has ended: a note of its own, since the stage's may have been read.
            stage = stage.late();
            add(new Note(stage));
        }
        long held = Math.max(0, info.finishTime() - info.launchTime());
        busyMs += held;
        otherBusyMs += stage.owner.query == null ? held : 0;
        Worker worker = worker(info.executorId(), info.host());
        worker.busyMs += held;
        worker.ended++;
        if (info.successful()) {
            stage.done++;
        } else {
            worker.failed++;
            stage.lostTasks++;
        }
        if (metrics != null) {
            worker.records += metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead();
            stage.add(metrics, info.successful());
        }
        if (!stage.own && stage.asked < 3) {
            stage.asked++;
            match(stage, ids(info), false);
        }
    }

    private static TreeSet ids(TaskInfo info) {
        TreeSet ids = new TreeSet();
        scala.collection.Iterator all = info.accumulables().iterator();
        while (all.hasNext()) {
            ids.add(Long.valueOf(((AccumulableInfo) all.next()).id()));
        }
        return ids;
    }

    private synchronized void executorAdded(SparkListenerExecutorAdded event) {
        Worker worker = worker(event.executorId(), event.executorInfo().executorHost());
        worker.cores = event.executorInfo().totalCores();
        worker.addedMs = event.time();
    }

    private synchronized void executorRemoved(SparkListenerExecutorRemoved event) {
        Worker worker = (Worker) executors.get(event.executorId());
        if (worker == null) {
            return;
        }
        worker.removedMs = event.time();
        worker.reason = event.reason();
        for (Iterator each = new ArrayList(worker.tasks.values()).iterator(); each.hasNext();) {
            forget((Task) each.next());
        }
        int gone = 0;
        for (Iterator each = executors.values().iterator(); each.hasNext();) {
            gone += ((Worker) each.next()).removedMs > 0 ? 1 : 0;
        }
        for (Iterator each = executors.values().iterator(); gone > MOST_KEPT && each.hasNext();) {
            if (((Worker) each.next()).removedMs > 0) {
                each.remove();
                gone--;
            }
        }
    }

    private synchronized void other(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart) {
            SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
            planned(start.executionId(), start.rootExecutionId(), start.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLAdaptiveExecutionUpdate) {
            SparkListenerSQLAdaptiveExecutionUpdate update = (SparkListenerSQLAdaptiveExecutionUpdate) event;
            planned(update.executionId(), scala.Option.empty(), update.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLExecutionEnd) {
            executions.remove(String.valueOf(((SparkListenerSQLExecutionEnd) event).executionId()));
        } else if (event instanceof StreamingQueryListener.QueryProgressEvent) {
            Note note = new Note("progress");
            note.progress = ((StreamingQueryListener.QueryProgressEvent) event).progress();
            add(note);
        } else if (event instanceof StreamingQueryListener.QueryStartedEvent) {
            StreamingQueryListener.QueryStartedEvent start = (StreamingQueryListener.QueryStartedEvent) event;
            Note note = new Note("started");
            note.fields.put("id", start.id().toString());
            note.fields.put("run", start.runId().toString());
            note.fields.put("name", start.name());
            add(note);
        } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
            StreamingQueryListener.QueryTerminatedEvent end = (StreamingQueryListener.QueryTerminatedEvent) event;
            Note note = new Note("terminated");
            note.fields.put("id", end.id().toString());
            note.fields.put("run", end.runId().toString());
            note.fields.put("error", end.exception().isDefined() ? firstLine(end.exception().get()) : null);
            add(note);
        }
    }

    /** A plan, or what adaptive execution has made of it. Stages that ran by an earlier one are still matched with it. */
    private void planned(long execution, scala.Option within, SparkPlanInfo root) {
        Plan plan = new Plan();
        StringBuilder text = new StringBuilder();
        describe(root, 0, plan, text);
        plan.shape = (Shape) shapes.get(text.toString());
        if (plan.shape == null) {
            lastShape++;
            plan.shape = new Shape(lastShape, plan.nodes);
            shapes.put(text.toString(), plan.shape);
        }
        plan.nodes = null;
        List plans = (List) executions.get(String.valueOf(execution));
        if (plans == null) {
            // Spark runs a batch as an execution within another of the same plan, and adapts the inner one: these two
            // are one. The actions of a foreachBatch have plans with metrics of their own.
            List outer = within.isDefined() ? (List) executions.get(String.valueOf(within.get())) : null;
            boolean same = outer != null && !outer.isEmpty() && ((Plan) outer.get(outer.size() - 1)).shares(plan);
            plans = same ? outer : new ArrayList();
            executions.put(String.valueOf(execution), plans);
        }
        plans.add(0, plan);
        if (plans.size() > MOST_VERSIONS) {
            plans.remove(MOST_VERSIONS);
        }
    }

    private void describe(SparkPlanInfo node, int depth, Plan plan, StringBuilder text) {
        Integer place = Integer.valueOf(plan.nodes.size());
        List row = new ArrayList();
        row.add(Integer.valueOf(depth));
        row.add(node.nodeName());
        row.add(mark(node));
        plan.nodes.add(row);
        text.append(row).append('\n');
        scala.collection.Iterator metrics = node.metrics().iterator();
        while (metrics.hasNext()) {
            // What is reused stands again further down, with the same metrics.
            plan.places.putIfAbsent(Long.valueOf(((SQLMetricInfo) metrics.next()).accumulatorId()), place);
        }
        scala.collection.Iterator children = node.children().iterator();
        while (children.hasNext()) {
            describe((SparkPlanInfo) children.next(), depth + 1, plan, text);
        }
    }

    /** What tells a node from others of its name in every batch: the number of its state, or of its columns. */
    private static String mark(SparkPlanInfo node) {
        String line = node.simpleString();
        Matcher state = OPERATOR.matcher(line);
        if (state.find()) {
            return "state " + state.group(1);
        }
        if (!node.children().isEmpty()) {
            return "";
        }
        TreeSet columns = new TreeSet();
        Matcher found = ATTRIBUTE.matcher(line);
        while (found.find()) {
            columns.add(Long.valueOf(found.group(1)));
        }
        return "columns " + columns.toString();
    }

    private void match(Stage stage, TreeSet ids, boolean whole) {
        List found = new ArrayList();
        boolean own = false;
        String root = stage.owner.root;
        String[] places = {root, stage.owner.execution};
        for (int i = 0; i < 2; i++) {
            List plans = places[i] == null ? null : (List) executions.get(places[i]);
            if (i == 1 && (root == null || plans == executions.get(root))) {
                plans = null;
            }
            for (int k = 0; plans != null && k < plans.size(); k++) {
                Plan plan = (Plan) plans.get(k);
                TreeSet nodes = plan.nodes(ids);
                // The query's own plan is told even to a stage that has no part in it: its names depend on that plan.
                if (!nodes.isEmpty() || (i == 0 && k == 0)) {
                    found.add(new Match(plan.shape, i == 0, nodes));
                }
                if (plan.shape.hasOwn(nodes)) {
                    own = true;
                    break;
                }
            }
        }
        if (whole || own) {
            stage.matches = found;
            stage.own = own;
        }
    }

    private Stage stage(int id, int attempt, int tasks) {
        String key = id + "." + attempt;
        Stage stage = (Stage) stages.get(key);
        if (stage == null) {
            Owner owner = (Owner) owners.get(Integer.valueOf(id));
            stage = new Stage(id, attempt, tasks, owner == null ? new Owner(-1, null) : owner);
            stages.put(key, stage);
        }
        return stage;
    }

    private Worker worker(String id, String host) {
        Worker worker = (Worker) executors.get(id);
        if (worker == null) {
            worker = new Worker(host);
            executors.put(id, worker);
        }
        return worker;
    }

    private void add(Note note) {
        lastNote++;
        note.number = lastNote;
        notes.add(note);
        if (notes.size() > MOST_NOTES) {
            notes.poll();
            lost++;
        }
    }

    private synchronized void note(Throwable problem) {
        failures++;
        failure = firstLine(problem.toString());
    }

    private static long time(scala.Option at) {
        return at.isDefined() ? ((Long) at.get()).longValue() : 0;
    }

    private static String firstLine(Object text) {
        String all = String.valueOf(text).trim();
        int end = all.indexOf('\n');
        String first = end < 0 ? all : all.substring(0, end);
        return first.length() <= 300 ? first : first.substring(0, 300);
    }

    /** Forgets what was put in first. */
    public static class Kept extends LinkedHashMap {
        protected boolean removeEldestEntry(Map.Entry eldest) {
            return size() > MOST_KEPT;
        }
    }

    /** Whose a job is. */
    public static class Owner {
        final int job;
        final String query;
        final String batch;
        final String execution;
        final String root;

        Owner(int job, Properties given) {
            this.job = job;
            this.query = given == null ? null : given.getProperty("sql.streaming.queryId");
            this.batch = given == null ? null : given.getProperty("streaming.sql.batchId");
            this.execution = given == null ? null : given.getProperty("spark.sql.execution.id");
            String root = given == null ? null : given.getProperty("spark.sql.execution.root.id");
            this.root = root == null ? execution : root;
        }
    }

    public static class Stage {
        final int id;
        final int attempt;
        final int tasks;
        final Owner owner;
        long submittedMs = 0;
        long endedMs = 0;
        boolean failed = false;
        boolean own = false;
        int asked = 0;
        int running = 0;
        int done = 0;
        int lostTasks = 0;
        long runMs = 0;
        long deserialiseMs = 0;
        long serialiseMs = 0;
        long cpuNs = 0;
        long gcMs = 0;
        long fetchMs = 0;
        long writeNs = 0;
        long lostMs = 0;
        long read = 0;
        long fetched = 0;
        long shuffled = 0;
        long written = 0;
        List matches = new ArrayList();

        Stage(int id, int attempt, int tasks, Owner owner) {
            this.id = id;
            this.attempt = attempt;
            this.tasks = tasks;
            this.owner = owner;
        }

        String key() {
            return id + "." + attempt;
        }

        Stage late() {
            Stage stage = new Stage(id, attempt, 0, owner);
            stage.submittedMs = submittedMs;
            stage.endedMs = endedMs;
            stage.failed = failed;
            stage.own = own;
            stage.matches = matches;
            return stage;
        }

        void add(TaskMetrics metrics, boolean successful) {
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

        Map map(long note, Map used) {
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
                found.add(((Match) each.next()).map(used));
            }
            map.put("matches", found);
            return map;
        }
    }

    public static class Task {
        final long id;
        final Stage stage;
        final Worker worker;
        final long launchMs;

        Task(long id, Stage stage, Worker worker, long launchMs) {
            this.id = id;
            this.stage = stage;
            this.worker = worker;
            this.launchMs = launchMs;
        }
    }

    public static class Worker {
        final String host;
        final Map tasks = new LinkedHashMap();
        int cores = 0;
        long addedMs = 0;
        long removedMs = 0;
        String reason = null;
        long firstMs = 0;
        long busyMs = 0;
        long shownMs = 0;
        long ended = 0;
        long failed = 0;
        long records = 0;

        Worker(String host) {
            this.host = host;
        }

        Map map(long now) {
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

    /** Something that has happened, until it was read. */
    public static class Note {
        final Stage stage;
        final Map fields = new LinkedHashMap();
        long number = 0;
        org.apache.spark.sql.streaming.StreamingQueryProgress progress = null;

        Note(Stage stage) {
            this.stage = stage;
        }

        Note(String kind) {
            this.stage = null;
            fields.put("event", kind);
            fields.put("at_ms", Long.valueOf(System.currentTimeMillis()));
        }

        Map map() {
            fields.put("note", Long.valueOf(number));
            if (progress != null) {
                fields.put("progress", new RawValue(progress.json()));
            }
            return fields;
        }
    }

    /** The nodes of a plan: [depth, name, mark], parents first. Most batches of a query have the same. */
    public static class Shape {
        final int id;
        final List nodes;

        Shape(int id, List nodes) {
            this.id = id;
            this.nodes = nodes;
        }

        /** Whether one of these nodes is no exchange: two stages share an exchange, and no other node. */
        boolean hasOwn(TreeSet places) {
            for (Iterator each = places.iterator(); each.hasNext();) {
                List node = (List) nodes.get(((Integer) each.next()).intValue());
                if (!String.valueOf(node.get(1)).endsWith("Exchange")) {
                    return true;
                }
            }
            return false;
        }
    }

    public static class Plan {
        List nodes = new ArrayList();
        Shape shape = null;
        final Map places = new HashMap();

        boolean shares(Plan other) {
            for (Iterator each = other.places.keySet().iterator(); each.hasNext();) {
                if (places.containsKey(each.next())) {
                    return true;
                }
            }
            return false;
        }

        TreeSet nodes(TreeSet ids) {
            TreeSet found = new TreeSet();
            for (Iterator each = ids.iterator(); each.hasNext();) {
                Object place = places.get(each.next());
                if (place != null) {
                    found.add(place);
                }
            }
            return found;
        }
    }

    /** Nodes of a plan whose metrics a stage has updated; `root`: the plan is the query's own. */
    public static class Match {
        final Shape shape;
        final boolean root;
        final TreeSet nodes;

        Match(Shape shape, boolean root, TreeSet nodes) {
            this.shape = shape;
            this.root = root;
            this.nodes = nodes;
        }

        Map map(Map used) {
            used.put(String.valueOf(shape.id), shape.nodes);
            Map map = new LinkedHashMap();
            map.put("shape", Integer.valueOf(shape.id));
            map.put("root", Boolean.valueOf(root));
            map.put("nodes", nodes);
            return map;
        }
    }
}
