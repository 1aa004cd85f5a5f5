package elastream;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.spark.executor.ExecutorMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;

/**
 * Stages, tasks and executors, by what Spark tells of them.
 *
 * Any event may be lost, late, or told twice: nothing stays because an end was lost, what comes late is counted where
 * it belongs, and what is known to be lost is counted as lost. Times are taken from a clock that nobody sets. Not
 * synchronized: `Watch` is. Compiled in the driver by Janino: no generics, no lambdas.
 */
public class Ledger {
    /** Kept up to here, because an event that would end it may be lost. */
    private static final int MOST_NOTES = 4000;
    private static final int MOST_OWNERS = 4000;
    private static final int MOST_EXECUTORS = 4000;
    private static final int MOST_OVERDUE = 4000;
    private static final int MOST_STAGES = 1000;
    private static final int MOST_ENDED = 1000;
    private static final int MOST_GONE = 256;
    /** The end of a task or stage that has not been told for so long after it must have come is lost. */
    private static final long OVERDUE_MS = 60000;

    public final Plans plans = new Plans();
    /** What has ended or happened, until it was read. */
    public final ArrayDeque notes = new ArrayDeque();
    public Tally.Clock clock = new Tally.Clock();
    public long lost = 0;
    private long lastNote = 0;
    /** By stage; after its end too, since tasks may be told of after that. */
    private final Map owners = new Plans.Kept(MOST_OWNERS);
    private final Map stages = new LinkedHashMap();
    private final Map ended = new Plans.Kept(MOST_ENDED);
    /** What was told of ended stages since the last look. */
    private final Map late = new Plans.Kept(MOST_ENDED);
    private final Map executors = new LinkedHashMap();
    private final Map running = new LinkedHashMap();
    /** Tasks that must be over and whose end was not told. */
    private final Map overdue = new LinkedHashMap();
    /** Stages that must be over and whose end was not told, and since when. */
    private final Map unended = new LinkedHashMap();
    private final Tally.Ids tasksOver = new Tally.Ids();
    private final Tally.Ids jobsOver = new Tally.Ids();
    /** Cores that a task takes. */
    public int taskCores = 1;
    private int usualCores = 1;
    /** Slots of the executors that are there, and since when one of them has been free; -1: none is. */
    private int slots = 0;
    private long freeSinceMs = -1;
    private long firstTask = Long.MAX_VALUE;
    private long goneBusyMs = 0;
    private long goneOtherBusyMs = 0;

    /** All of it, as maps and lists. */
    public void show(Map all) {
        long now = clock.upMs();
        late.clear();
        settle(now);
        all.put("at_ms", Long.valueOf(clock.utcMs()));
        all.put("note", Long.valueOf(lastNote));
        all.put("lost", Long.valueOf(lost));
        for (Iterator each = stages.values().iterator(); each.hasNext();) {
            ((Tally.Stage) each.next()).oldestMs = 0;
        }
        for (Iterator tasks = running.values().iterator(); tasks.hasNext();) {
            Tally.Task task = (Tally.Task) tasks.next();
            task.stage.oldestMs = Math.max(task.stage.oldestMs, now - task.beganMs);
        }
        long busyMs = goneBusyMs;
        long otherBusyMs = goneOtherBusyMs;
        Map workers = new LinkedHashMap();
        for (Iterator entries = executors.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            Tally.Worker worker = (Tally.Worker) entry.getValue();
            worker.count(now);
            busyMs += worker.busyMs;
            otherBusyMs += worker.otherBusyMs;
            workers.put(entry.getKey(), worker.map());
        }
        all.put("busy_ms", Long.valueOf(busyMs));
        all.put("other_busy_ms", Long.valueOf(otherBusyMs));
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
    }

    public void jobStarted(SparkListenerJobStart event) {
        Tally.Owner owner = new Tally.Owner(event.jobId(), event.properties());
        // Batches of a query follow each other: what is open of an earlier one has ended, and we were not told.
        closeAll(-1, owner, null);
        scala.collection.Iterator infos = event.stageInfos().iterator();
        while (infos.hasNext()) {
            StageInfo info = (StageInfo) infos.next();
            owners.put(Integer.valueOf(info.stageId()), owner);
            open(info.stageId(), info.attemptNumber(), info.numTasks());
        }
    }

    public void jobEnded(int job) {
        jobsOver.add(job);
        closeAll(job, null, null);
    }

    public void stageSubmitted(StageInfo info, Properties properties) {
        Integer id = Integer.valueOf(info.stageId());
        if (!owners.containsKey(id)) {
            Tally.Owner owner = new Tally.Owner(-1, properties);
            closeAll(-1, owner, null);
            owners.put(id, owner);
        }
        Tally.Stage stage = open(info.stageId(), info.attemptNumber(), info.numTasks());
        if (stage.open) {
            stage.submittedMs = time(info.submissionTime());
            stage.beganMs = clock.upMs();
            stage.prefers = prefers(info);
        }
    }

    /** Whether a task of it would rather run in some places than in others. */
    private static boolean prefers(StageInfo info) {
        scala.collection.Seq places = info.taskLocalityPreferences();
        scala.collection.Iterator each = places == null ? null : places.iterator();
        while (each != null && each.hasNext()) {
            if (((scala.collection.Seq) each.next()).nonEmpty()) {
                return true;
            }
        }
        return false;
    }

    public void stageEnded(StageInfo info) {
        Tally.Stage stage = open(info.stageId(), info.attemptNumber(), info.numTasks());
        unended.remove(stage.key());
        if (!stage.open) {
            return;
        }
        stage.submittedMs = time(info.submissionTime());
        stage.failed = info.failureReason().isDefined();
        TreeSet ids = new TreeSet();
        scala.collection.Iterator keys = info.accumulables().keysIterator();
        while (keys.hasNext()) {
            ids.add(keys.next());
        }
        match(stage, ids, true);
        // Tasks of a stage that has failed go on; of others, some are killed because a copy of them was faster.
        end(stage, time(info.completionTime()), !stage.failed);
    }

    /** What belongs to that job, to batches before the one of `next`, or to that query is over. */
    private void closeAll(int job, Tally.Owner next, String query) {
        for (Iterator each = new ArrayList(stages.values()).iterator(); each.hasNext();) {
            Tally.Stage stage = (Tally.Stage) each.next();
            if (stage.owner.isOver(job, next, query)) {
                close(stage);
            }
        }
        for (Iterator each = new ArrayList(running.values()).iterator(); each.hasNext();) {
            Tally.Task task = (Tally.Task) each.next();
            if (task.stage.owner.isOver(job, next, query)) {
                miss(task);
            }
        }
    }

    /** It is over. One that was never submitted has been skipped; the end of another is late, or lost. */
    private void close(Tally.Stage stage) {
        if (stage.submittedMs > 0 || stage.running + stage.done + stage.lostTasks > 0) {
            unended.put(stage.key(), Long.valueOf(clock.upMs()));
            if (unended.size() > MOST_OVERDUE) {
                unended.remove(unended.keySet().iterator().next());
                lost++;
            }
            end(stage, clock.utcMs(), true);
        } else {
            stages.remove(stage.key());
            stage.open = false;
        }
    }

    private void end(Tally.Stage stage, long atMs, boolean withTasks) {
        stages.remove(stage.key());
        stage.open = false;
        stage.endedMs = atMs;
        ended.put(stage.key(), stage);
        add(new Note(stage));
        if (withTasks && stage.running > 0) {
            for (Iterator each = new ArrayList(running.values()).iterator(); each.hasNext();) {
                Tally.Task task = (Tally.Task) each.next();
                if (task.stage == stage) {
                    miss(task);
                }
            }
        }
    }

    public void taskStarted(int stageId, int attempt, TaskInfo info) {
        Long id = Long.valueOf(info.taskId());
        if (tasksOver.has(info.taskId()) || running.containsKey(id) || overdue.containsKey(id)) {
            // Told before, or its end was.
            return;
        }
        long now = clock.upMs();
        firstTask = Math.min(firstTask, info.taskId());
        Tally.Worker worker = worker(info.executorId(), info.host());
        if (worker.firstMs == 0) {
            worker.firstMs = info.launchTime();
        }
        // The end of a task may be told after the start of the next in its slot.
        if (worker.tasks.size() >= 2 * worker.cores) {
            miss((Tally.Task) worker.tasks.values().iterator().next());
        }
        Tally.Task task = new Tally.Task(info.taskId(), stage(stageId, attempt, true), worker, now);
        if (freeSinceMs >= 0) {
            task.stage.began(now, freeSinceMs);
        }
        running.put(id, task);
        countFree(now);
        worker.begin(task, now);
        task.stage.running++;
        boolean late = task.stage.endedMs > 0 && !task.stage.failed;
        if (late || worker.removedMs > 0 || isOver(task.stage.owner)) {
            miss(task);
        }
    }

    /** It must be over, and its end was not told yet. */
    private void miss(Tally.Task task) {
        forget(task);
        task.missedMs = clock.upMs();
        overdue.put(Long.valueOf(task.id), task);
        if (overdue.size() > MOST_OVERDUE) {
            overdue.remove(overdue.keySet().iterator().next());
            lost++;
        }
    }

    /** What has been due for long enough is lost. */
    private void settle(long now) {
        Iterator tasks = overdue.values().iterator();
        while (tasks.hasNext() && now - ((Tally.Task) tasks.next()).missedMs >= OVERDUE_MS) {
            tasks.remove();
            lost++;
        }
        Iterator ends = unended.values().iterator();
        while (ends.hasNext() && now - ((Long) ends.next()).longValue() >= OVERDUE_MS) {
            ends.remove();
            lost++;
        }
    }

    private void forget(Tally.Task task) {
        if (running.remove(Long.valueOf(task.id)) != null) {
            task.worker.end(task, clock.upMs());
            task.stage.running--;
            countFree(clock.upMs());
        }
    }

    private void countFree(long now) {
        freeSinceMs = running.size() >= slots ? -1 : freeSinceMs < 0 ? now : freeSinceMs;
    }

    private void countSlots() {
        slots = 0;
        for (Iterator each = executors.values().iterator(); each.hasNext();) {
            Tally.Worker worker = (Tally.Worker) each.next();
            slots += worker.removedMs > 0 ? 0 : worker.cores / taskCores;
        }
        countFree(clock.upMs());
    }

    public void taskEnded(int stageId, int attempt, TaskInfo info, TaskMetrics metrics) {
        Long id = Long.valueOf(info.taskId());
        Tally.Task task = (Tally.Task) running.get(id);
        boolean begun = task != null || overdue.remove(id) != null;
        if (task != null) {
            forget(task);
        }
        // Spark tells the end of a task again when its output is lost with its executor.
        if (!tasksOver.add(info.taskId()) && !begun) {
            return;
        }
        Tally.Stage stage = stage(stageId, attempt, false);
        if (!stage.open) {
            stage = late(stage);
        }
        Tally.Worker worker = (Tally.Worker) executors.get(info.executorId());
        if (worker != null) {
            worker.records += records(metrics);
            worker.ended(metrics);
        }
        if (!begun) {
            // Those before the first that we saw began before we watched.
            lost += info.taskId() > firstTask ? 1 : 0;
            if (worker != null) {
                worker.add(Tally.held(metrics), stage.owner.query == null, clock.upMs());
            }
        }
        if (info.successful()) {
            stage.done++;
            stage.took(metrics);
            stage.delayed(info, metrics);
        } else {
            stage.lostTasks++;
        }
        if (metrics != null) {
            stage.add(metrics, info.successful());
        }
        if (!stage.own && stage.asked < 3) {
            stage.asked++;
            match(stage, ids(info), false);
        }
    }

    private static long records(TaskMetrics metrics) {
        return metrics == null ? 0 : metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead();
    }

    /** Where tasks of an ended stage are counted: in a note of its own, since the stage's may have been read. */
    private Tally.Stage late(Tally.Stage stage) {
        Tally.Stage more = (Tally.Stage) late.get(stage.key());
        if (more == null) {
            more = stage.late(clock.utcMs());
            late.put(stage.key(), more);
            add(new Note(more));
        }
        return more;
    }

    private static TreeSet ids(TaskInfo info) {
        TreeSet ids = new TreeSet();
        scala.collection.Iterator all = info.accumulables().iterator();
        while (all.hasNext()) {
            ids.add(Long.valueOf(((AccumulableInfo) all.next()).id()));
        }
        return ids;
    }

    public void executorAdded(String id, String host, int cores) {
        Tally.Worker worker = worker(id, host);
        worker.count(clock.upMs());
        worker.cores = cores;
        usualCores = cores;
        countSlots();
    }

    /** What an executor says of itself every few seconds while it runs tasks. */
    public void executorTold(String name, scala.collection.Map told) {
        Tally.Worker worker = (Tally.Worker) executors.get(name);
        long heap = 0;
        for (scala.collection.Iterator each = told.valuesIterator(); each.hasNext();) {
            heap = Math.max(heap, ((ExecutorMetrics) each.next()).getMetricValue("JVMHeapMemory"));
        }
        if (worker != null && heap > 0) {
            worker.heapBytes = heap;
        }
    }

    public void executorRemoved(String name, long atMs) {
        // One that is not known may be told to have come after this.
        Tally.Worker worker = worker(name, null);
        worker.removedMs = atMs;
        missAll(worker);
        countSlots();
        int gone = 0;
        for (Iterator each = executors.values().iterator(); each.hasNext();) {
            gone += ((Tally.Worker) each.next()).removedMs > 0 ? 1 : 0;
        }
        for (Iterator each = new ArrayList(executors.keySet()).iterator(); gone > MOST_GONE && each.hasNext();) {
            String id = (String) each.next();
            if (((Tally.Worker) executors.get(id)).removedMs > 0) {
                drop(id);
                gone--;
            }
        }
    }

    private void missAll(Tally.Worker worker) {
        for (Iterator each = new ArrayList(worker.tasks.values()).iterator(); each.hasNext();) {
            miss((Tally.Task) each.next());
        }
    }

    private void drop(String id) {
        Tally.Worker worker = (Tally.Worker) executors.remove(id);
        missAll(worker);
        countSlots();
        goneBusyMs += worker.busyMs;
        goneOtherBusyMs += worker.otherBusyMs;
    }

    /** Nothing of a query goes on after its end. */
    public void queryEnded(String query) {
        closeAll(-1, null, query);
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

    private Tally.Stage known(String key) {
        Tally.Stage stage = (Tally.Stage) stages.get(key);
        return stage == null ? (Tally.Stage) ended.get(key) : stage;
    }

    private Tally.Owner owner(int stage) {
        Tally.Owner owner = (Tally.Owner) owners.get(Integer.valueOf(stage));
        return owner == null ? new Tally.Owner(-1, null) : owner;
    }

    private boolean isOver(Tally.Owner owner) {
        return owner.job >= 0 && jobsOver.has(owner.job);
    }

    /** A stage that has begun or will; one that is over stays so. */
    private Tally.Stage open(int id, int attempt, int tasks) {
        String key = id + "." + attempt;
        Tally.Stage stage = known(key);
        // Tasks of it may have been told before the stage itself.
        if (stage != null && (stage.open || stage.endedMs > 0)) {
            return stage;
        }
        Tally.Owner owner = owner(id);
        stage = stage == null ? new Tally.Stage(id, attempt) : stage;
        stage.owner = owner;
        stage.tasks = tasks;
        stage.open = !isOver(owner);
        if (stage.open) {
            ended.remove(key);
            stages.put(key, stage);
        }
        if (stages.size() > MOST_STAGES) {
            close((Tally.Stage) stages.values().iterator().next());
        }
        return stage;
    }

    /** The stage of a task. One that nobody has announced is not open: nobody would end it. */
    private Tally.Stage stage(int id, int attempt, boolean begins) {
        String key = id + "." + attempt;
        Tally.Stage stage = known(key);
        if (stage == null && begins && owners.containsKey(Integer.valueOf(id))) {
            stage = open(id, attempt, 0);
        }
        if (stage == null) {
            stage = new Tally.Stage(id, attempt);
            stage.owner = owner(id);
            stage.open = false;
        }
        if (!stage.open) {
            ended.putIfAbsent(key, stage);
        }
        return stage;
    }

    private Tally.Worker worker(String id, String host) {
        Tally.Worker worker = (Tally.Worker) executors.get(id);
        if (worker == null) {
            worker = new Tally.Worker(host, usualCores, clock.upMs());
            executors.put(id, worker);
            countSlots();
            if (executors.size() > MOST_EXECUTORS) {
                drop((String) executors.keySet().iterator().next());
                lost++;
            }
        }
        return worker;
    }

    public void add(Note note) {
        lastNote++;
        note.number = lastNote;
        notes.add(note);
        if (notes.size() > MOST_NOTES) {
            notes.poll();
            lost++;
        }
    }

    private static long time(scala.Option at) {
        return at.isDefined() ? ((Long) at.get()).longValue() : 0;
    }

    /** Something that has happened, until it was read. */
    public static class Note {
        public final Tally.Stage stage;
        public final Map fields = new LinkedHashMap();
        public long number = 0;

        public Note(Tally.Stage stage) {
            this.stage = stage;
        }

        public Note(String kind) {
            this.stage = null;
            fields.put("event", kind);
            fields.put("at_ms", Long.valueOf(System.currentTimeMillis()));
        }

        public Map map() {
            fields.put("note", Long.valueOf(number));
            return fields;
        }
    }
}
