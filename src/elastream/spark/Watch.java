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
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Adds up what tasks report, inside the driver, and gives it away once per look.
 *
 * What has ended waits as a numbered note until a later look says that it was read, so that a lost answer loses
 * nothing; what runs is in every look. Nothing here throws into Spark's event queue. Compiled in the driver by Janino:
 * no generics, no lambdas, and only public methods are synchronized: it makes static ones of private methods, which
 * would lock the class instead of this object.
 */
public class Watch extends SparkListener {
    /** Notes that nobody fetches, stages that have ended, executors that are gone: kept up to here. */
    private static final int MOST_NOTES = 4000;
    private static final int MOST_KEPT = 256;
    private static final String QUEUE = "elastream";

    private final SparkContext context;
    private final Supplier queries;
    private final ObjectMapper json = new ObjectMapper();
    private final ArrayDeque notes = new ArrayDeque();
    private final Map owners = new HashMap();
    private final Map stages = new LinkedHashMap();
    private final Map ended = new Plans.Kept();
    private final Plans plans = new Plans();
    private final Map executors = new LinkedHashMap();
    private final Map running = new LinkedHashMap();
    private long lastNote = 0;
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
                    Tally.Worker worker = worker(one.id(), one.hostPort().replaceAll(":\\d+$", ""));
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
        for (Iterator each = stages.values().iterator(); each.hasNext();) {
            ((Tally.Stage) each.next()).oldestMs = 0;
        }
        for (Iterator tasks = running.values().iterator(); tasks.hasNext();) {
            Tally.Task task = (Tally.Task) tasks.next();
            long heldMs = Math.max(0, now - task.launchMs);
            runningMs += heldMs;
            task.stage.oldestMs = Math.max(task.stage.oldestMs, heldMs);
        }
        // An event may come after the task has been seen to run longer than it did.
        shownBusyMs = Math.max(shownBusyMs, busyMs + runningMs);
        all.put("busy_ms", Long.valueOf(shownBusyMs));
        all.put("other_busy_ms", Long.valueOf(otherBusyMs));
        Map workers = new LinkedHashMap();
        for (Iterator entries = executors.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            workers.put(entry.getKey(), ((Tally.Worker) entry.getValue()).map(now));
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
            listed.add(((Tally.Stage) each.next()).map(0, used));
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

    public synchronized void onJobStart(SparkListenerJobStart event) {
        try {
            jobStarted(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onJobEnd(SparkListenerJobEnd event) {
        try {
            jobEnded(event.jobId());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
        try {
            stageSubmitted(event.stageInfo(), event.properties());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
        try {
            stageEnded(event.stageInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onTaskStart(SparkListenerTaskStart event) {
        try {
            taskStarted(event.stageId(), event.stageAttemptId(), event.taskInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
        try {
            taskEnded(event.stageId(), event.stageAttemptId(), event.taskInfo(), event.taskMetrics());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onExecutorAdded(SparkListenerExecutorAdded event) {
        try {
            executorAdded(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        try {
            executorRemoved(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onOtherEvent(SparkListenerEvent event) {
        try {
            other(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    private void jobStarted(SparkListenerJobStart event) {
        Tally.Owner owner = new Tally.Owner(event.jobId(), event.properties());
        scala.collection.Iterator infos = event.stageInfos().iterator();
        while (infos.hasNext()) {
            StageInfo info = (StageInfo) infos.next();
            owners.put(Integer.valueOf(info.stageId()), owner);
            stage(info.stageId(), info.attemptNumber(), info.numTasks());
        }
    }

    private void jobEnded(int job) {
        for (Iterator each = stages.values().iterator(); each.hasNext();) {
            Tally.Stage stage = (Tally.Stage) each.next();
            if (stage.owner.job != job) {
                continue;
            }
            each.remove();
            // One that was never submitted has been skipped; the end of another was lost on its way to us.
            if (stage.submittedMs > 0) {
                stage.endedMs = System.currentTimeMillis();
                ended.put(stage.key(), stage);
                add(new Note(stage));
            }
        }
        for (Iterator each = owners.values().iterator(); each.hasNext();) {
            if (((Tally.Owner) each.next()).job == job) {
                each.remove();
            }
        }
    }

    private void stageSubmitted(StageInfo info, Properties properties) {
        Integer id = Integer.valueOf(info.stageId());
        if (!owners.containsKey(id)) {
            owners.put(id, new Tally.Owner(-1, properties));
        }
        Tally.Stage stage = stage(info.stageId(), info.attemptNumber(), info.numTasks());
        stage.submittedMs = time(info.submissionTime());
    }

    private void stageEnded(StageInfo info) {
        Tally.Stage stage = stage(info.stageId(), info.attemptNumber(), info.numTasks());
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

    private void taskStarted(int stageId, int attempt, TaskInfo info) {
        Tally.Stage stage = stage(stageId, attempt, 0);
        Tally.Worker worker = worker(info.executorId(), info.host());
        if (worker.firstMs == 0) {
            worker.firstMs = info.launchTime();
        }
        // The end of a task may be told after the start of the next in its slot.
        if (worker.cores > 0 && worker.tasks.size() >= worker.cores) {
            forget((Tally.Task) worker.tasks.values().iterator().next());
        }
        Tally.Task task = new Tally.Task(info.taskId(), stage, worker, info.launchTime());
        running.put(Long.valueOf(task.id), task);
        worker.tasks.put(Long.valueOf(task.id), task);
        stage.running++;
    }

    private void forget(Tally.Task task) {
        if (running.remove(Long.valueOf(task.id)) != null) {
            task.worker.tasks.remove(Long.valueOf(task.id));
            task.stage.running--;
        }
    }

    private void taskEnded(int stageId, int attempt, TaskInfo info, TaskMetrics metrics) {
        Tally.Task task = (Tally.Task) running.get(Long.valueOf(info.taskId()));
        if (task != null) {
            forget(task);
        }
        Tally.Stage stage = (Tally.Stage) ended.get(stageId + "." + attempt);
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
        Tally.Worker worker = worker(info.executorId(), info.host());
        worker.busyMs += held;
        worker.ended++;
        if (info.successful()) {
            stage.done++;
            stage.took(held, metrics);
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

    private void executorAdded(SparkListenerExecutorAdded event) {
        Tally.Worker worker = worker(event.executorId(), event.executorInfo().executorHost());
        worker.cores = event.executorInfo().totalCores();
        worker.addedMs = event.time();
    }

    private void executorRemoved(SparkListenerExecutorRemoved event) {
        Tally.Worker worker = (Tally.Worker) executors.get(event.executorId());
        if (worker == null) {
            return;
        }
        worker.removedMs = event.time();
        worker.reason = event.reason();
        for (Iterator each = new ArrayList(worker.tasks.values()).iterator(); each.hasNext();) {
            forget((Tally.Task) each.next());
        }
        int gone = 0;
        for (Iterator each = executors.values().iterator(); each.hasNext();) {
            gone += ((Tally.Worker) each.next()).removedMs > 0 ? 1 : 0;
        }
        for (Iterator each = executors.values().iterator(); gone > MOST_KEPT && each.hasNext();) {
            if (((Tally.Worker) each.next()).removedMs > 0) {
                each.remove();
                gone--;
            }
        }
    }

    private void other(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart) {
            SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
            plans.planned(start.executionId(), start.rootExecutionId(), start.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLAdaptiveExecutionUpdate) {
            SparkListenerSQLAdaptiveExecutionUpdate update = (SparkListenerSQLAdaptiveExecutionUpdate) event;
            plans.planned(update.executionId(), scala.Option.empty(), update.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLExecutionEnd) {
            plans.ended(((SparkListenerSQLExecutionEnd) event).executionId());
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

    private void match(Tally.Stage stage, TreeSet ids, boolean whole) {
        List found = plans.matches(stage.owner.root, stage.owner.execution, ids);
        boolean own = false;
        for (Iterator each = found.iterator(); each.hasNext();) {
            Plans.Match match = (Plans.Match) each.next();
            own = own || match.own;
        }
        if (whole || own) {
            stage.matches = found;
            stage.own = own;
        }
    }

    private Tally.Stage stage(int id, int attempt, int tasks) {
        String key = id + "." + attempt;
        Tally.Stage stage = (Tally.Stage) stages.get(key);
        if (stage == null) {
            Tally.Owner owner = (Tally.Owner) owners.get(Integer.valueOf(id));
            stage = new Tally.Stage(id, attempt, tasks, owner == null ? new Tally.Owner(-1, null) : owner);
            stages.put(key, stage);
            if (stages.size() > MOST_NOTES) {
                stages.remove(stages.keySet().iterator().next());
                lost++;
            }
        }
        return stage;
    }

    private Tally.Worker worker(String id, String host) {
        Tally.Worker worker = (Tally.Worker) executors.get(id);
        if (worker == null) {
            worker = new Tally.Worker(host);
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

    private void note(Throwable problem) {
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

    /** Something that has happened, until it was read. */
    public static class Note {
        final Tally.Stage stage;
        final Map fields = new LinkedHashMap();
        long number = 0;
        org.apache.spark.sql.streaming.StreamingQueryProgress progress = null;

        Note(Tally.Stage stage) {
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
}
