package elastream.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import elastream.Tally;
import elastream.Watch;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.spark.Success$;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.JobSucceeded$;
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
import org.apache.spark.scheduler.TaskLocality$;
import org.apache.spark.scheduler.cluster.ExecutorInfo;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress$;

/**
 * Gives Spark's own event objects to the listener, as a script says, on a clock of the script's; no Spark runs.
 *
 * A line is an event: its name and its fields, separated by tabs. Compiled by Janino: no generics, no lambdas.
 */
public class EventPlayer {
    public final Steered clock = new Steered();
    private final Watch watch;
    private final Map tasks = new HashMap();
    private final ObjectMapper json = new ObjectMapper();

    public EventPlayer(Watch watch) {
        this.watch = watch;
        watch.ledger.clock = clock;
    }

    public static class Steered extends Tally.Clock {
        public long up = 0;
        public long utc = 0;

        public long upMs() {
            return up;
        }

        public long utcMs() {
            return utc;
        }
    }

    /** Active queries, as a test says. */
    public static class Told implements Supplier {
        private Map told = new HashMap();

        public void tell(String json) throws Exception {
            told = (Map) new ObjectMapper().readValue(json, Map.class);
        }

        public Object get() {
            return told;
        }
    }

    public void play(String script) throws Exception {
        String[] lines = script.split("\n");
        for (int i = 0; i < lines.length; i++) {
            if (lines[i].length() > 0) {
                event(lines[i].split("\t"));
            }
        }
    }

    /** How many entries each collection of the ledger has. */
    public String sizes() throws Exception {
        Map found = new TreeMap();
        count(watch.ledger, found);
        count(watch.ledger.plans, found);
        return json.writeValueAsString(found);
    }

    private static void count(Object of, Map found) throws Exception {
        Field[] fields = of.getClass().getDeclaredFields();
        for (int i = 0; i < fields.length; i++) {
            fields[i].setAccessible(true);
            Object value = fields[i].get(of);
            if (value instanceof Map) {
                found.put(fields[i].getName(), Integer.valueOf(((Map) value).size()));
            } else if (value instanceof Collection) {
                found.put(fields[i].getName(), Integer.valueOf(((Collection) value).size()));
            }
        }
    }

    private void event(String[] words) throws Exception {
        String kind = words[0];
        if (kind.equals("clock")) {
            clock.up = Long.parseLong(words[1]);
            clock.utc = Long.parseLong(words[2]);
        } else if (kind.equals("job")) {
            // number, query, batch, execution, stage:attempt:tasks ...
            List infos = new ArrayList();
            for (int i = 5; i < words.length; i++) {
                String[] stage = words[i].split(":");
                infos.add(info(Integer.parseInt(stage[0]), Integer.parseInt(stage[1]), Integer.parseInt(stage[2]), false));
            }
            watch.onJobStart(new SparkListenerJobStart(Integer.parseInt(words[1]), clock.utc, seq(infos),
                properties(words[2], words[3], words[4])));
        } else if (kind.equals("job-end")) {
            watch.onJobEnd(new SparkListenerJobEnd(Integer.parseInt(words[1]), clock.utc, JobSucceeded$.MODULE$));
        } else if (kind.equals("stage")) {
            // stage, attempt, tasks, query, batch, execution, and "near" if its tasks would rather run in some places
            StageInfo info = stage(words);
            watch.onStageSubmitted(new SparkListenerStageSubmitted(info, properties(words[4], words[5], words[6])));
        } else if (kind.equals("stage-end")) {
            // stage, attempt, tasks, verdict, begun, accumulable
            StageInfo info = stage(words);
            info.submissionTime_$eq(scala.Option.apply(Long.valueOf(words[5])));
            info.completionTime_$eq(scala.Option.apply(Long.valueOf(clock.utc)));
            if (words[4].equals("failed")) {
                info.failureReason_$eq(scala.Option.apply("it failed"));
            }
            if (words.length > 6) {
                Long id = Long.valueOf(words[6]);
                info.accumulables().put(id, accumulable(id));
            }
            watch.onStageCompleted(new SparkListenerStageCompleted(info));
        } else if (kind.equals("task")) {
            // task, stage, attempt, executor
            TaskInfo info = task(words);
            watch.onTaskStart(new SparkListenerTaskStart(Integer.parseInt(words[2]), Integer.parseInt(words[3]), info));
        } else if (kind.equals("task-end")) {
            taskEnd(words);
        } else if (kind.equals("executor")) {
            scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
            watch.onExecutorAdded(new SparkListenerExecutorAdded(clock.utc, words[1],
                new ExecutorInfo("host-" + words[1], Integer.parseInt(words[2]), none)));
        } else if (kind.equals("executor-end")) {
            watch.onExecutorRemoved(new SparkListenerExecutorRemoved(clock.utc, words[1], "it went"));
        } else if (kind.equals("plan")) {
            plan(words);
        } else if (kind.equals("plan-end")) {
            watch.onOtherEvent(new SparkListenerSQLExecutionEnd(Long.parseLong(words[1]), clock.utc, scala.Option.empty(),
                scala.Option.empty()));
        } else if (kind.equals("progress")) {
            watch.onOtherEvent(new StreamingQueryListener.QueryProgressEvent(
                StreamingQueryProgress$.MODULE$.fromJson(words[1])));
        } else if (kind.equals("query-end")) {
            watch.onOtherEvent(new StreamingQueryListener.QueryTerminatedEvent(
                UUID.fromString(words[1]), UUID.fromString(words[1]), scala.Option.empty()));
        } else {
            throw new IllegalArgumentException(kind);
        }
    }

    /** task, stage, attempt, executor, verdict, run ms, records, accumulable or -, processor ms, ms of garbage. */
    private void taskEnd(String[] words) {
        TaskInfo info = task(words);
        boolean well = words[5].equals("done");
        info.finishTime_$eq(clock.utc);
        info.failed_$eq(!well);
        TaskMetrics metrics = new TaskMetrics();
        metrics.setExecutorRunTime(Long.parseLong(words[6]));
        metrics.inputMetrics().setRecordsRead(Long.parseLong(words[7]));
        if (words.length > 9) {
            metrics.setExecutorCpuTime(Long.parseLong(words[9]) * 1000000);
        }
        if (words.length > 10) {
            metrics.setJvmGCTime(Long.parseLong(words[10]));
        }
        if (words.length > 8 && !words[8].equals("-")) {
            List made = new ArrayList();
            made.add(accumulable(Long.valueOf(words[8])));
            info.setAccumulables(seq(made));
        }
        watch.onTaskEnd(new SparkListenerTaskEnd(Integer.parseInt(words[2]), Integer.parseInt(words[3]), "ResultTask",
            Success$.MODULE$, info, null, metrics));
        tasks.remove(Long.valueOf(words[1]));
    }

    private TaskInfo task(String[] words) {
        Long id = Long.valueOf(words[1]);
        TaskInfo info = (TaskInfo) tasks.get(id);
        if (info == null) {
            info = new TaskInfo(id.longValue(), 0, 0, clock.utc, words[4], "host-" + words[4], TaskLocality$.MODULE$.ANY(),
                false);
            tasks.put(id, info);
        }
        return info;
    }

    /** execution, then a chain of nodes from the top: name, line and accumulable, separated by |. */
    private void plan(String[] words) {
        scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
        SparkPlanInfo below = null;
        for (int i = words.length - 1; i > 1; i--) {
            String[] node = words[i].split("\\|");
            List children = new ArrayList();
            if (below != null) {
                children.add(below);
            }
            List metrics = new ArrayList();
            metrics.add(new SQLMetricInfo("number of output rows", Long.parseLong(node[2]), "sum"));
            below = new SparkPlanInfo(node[0], node[1], seq(children), none, seq(metrics));
        }
        long id = Long.parseLong(words[1]);
        watch.onOtherEvent(new SparkListenerSQLExecutionStart(id, scala.Option.apply(Long.valueOf(id)), "", "", "", below,
            clock.utc, none, (scala.collection.immutable.Set) scala.collection.immutable.Set$.MODULE$.empty(),
            scala.Option.empty(), scala.Option.empty()));
    }

    private StageInfo stage(String[] words) {
        boolean near = words[0].equals("stage") && words.length > 7 && words[7].equals("near");
        StageInfo info = info(Integer.parseInt(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]), near);
        info.submissionTime_$eq(scala.Option.apply(Long.valueOf(clock.utc)));
        return info;
    }

    private static StageInfo info(int stage, int attempt, int tasks, boolean near) {
        scala.collection.immutable.Seq none = seq(new ArrayList());
        List places = new ArrayList();
        for (int i = 0; i < tasks; i++) {
            places.add(near ? seq(java.util.Collections.singletonList("a host")) : none);
        }
        return new StageInfo(stage, attempt, "stage", tasks, none, none, "", null, seq(places), scala.Option.empty(), 0, false, 0);
    }

    private static AccumulableInfo accumulable(Long id) {
        return new AccumulableInfo(id.longValue(), scala.Option.empty(), scala.Option.empty(), scala.Option.empty(), false,
            true, scala.Option.empty());
    }

    private static Properties properties(String query, String batch, String execution) {
        Properties given = new Properties();
        if (!query.equals("-")) {
            given.setProperty("sql.streaming.queryId", query);
            given.setProperty("streaming.sql.batchId", batch);
        }
        if (!execution.equals("-")) {
            given.setProperty("spark.sql.execution.id", execution);
        }
        return given;
    }

    private static scala.collection.immutable.Seq seq(List all) {
        scala.collection.immutable.List made = scala.collection.immutable.Nil$.MODULE$;
        for (int i = all.size() - 1; i >= 0; i--) {
            made = new scala.collection.immutable.$colon$colon(all.get(i), made);
        }
        return made;
    }
}
