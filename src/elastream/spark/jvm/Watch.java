package elastream;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
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
    private static final String QUEUE = "elastream";

    private final SparkContext context;
    private final Supplier queries;
    private final ObjectMapper json = new ObjectMapper();
    public final Ledger ledger = new Ledger();
    private String application = null;
    private long failures = 0;
    private String failure = null;

    public Watch(SparkContext context, Supplier queries) {
        this.context = context;
        this.queries = queries;
    }

    /** Listen, on a queue of our own: what we do delays no other listener. */
    public void install() {
        application = context.applicationId();
        context.listenerBus().addToQueue(this, QUEUE);
        synchronized (this) {
            ledger.taskCores = Math.max(1, context.conf().getInt("spark.task.cpus", 1));
            scala.collection.Iterator known = context.statusStore().executorList(true).iterator();
            while (known.hasNext()) {
                org.apache.spark.status.api.v1.ExecutorSummary one =
                    (org.apache.spark.status.api.v1.ExecutorSummary) known.next();
                if (!one.id().equals("driver")) {
                    ledger.executorAdded(one.id(), one.hostPort().replaceAll(":\\d+$", ""), one.totalCores());
                }
            }
        }
    }

    public void remove() {
        context.removeSparkListener(this);
    }

    /** Everything since the note that was read last, as JSON; an object, which Python reads in pieces (`read_pieces`). */
    public StringBuilder look(long read) throws Exception {
        long began = System.nanoTime();
        Object live = queries.get();
        Map all;
        synchronized (this) {
            while (!ledger.notes.isEmpty() && ((Ledger.Note) ledger.notes.peek()).number <= read) {
                ledger.notes.poll();
            }
            all = everything();
        }
        all.putAll((Map) live);
        all.put("dropped", dropped());
        all.put("took_us", Long.valueOf((System.nanoTime() - began) / 1000));
        return new StringBuilder(json.writeValueAsString(all));
    }

    private Map everything() {
        Map all = new LinkedHashMap();
        all.put("version", Integer.valueOf(1));
        all.put("application", application);
        all.put("failures", Long.valueOf(failures));
        all.put("failure", failure);
        ledger.show(all);
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
            ledger.jobStarted(event);
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onJobEnd(SparkListenerJobEnd event) {
        try {
            ledger.jobEnded(event.jobId());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
        try {
            ledger.stageSubmitted(event.stageInfo(), event.properties());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
        try {
            ledger.stageEnded(event.stageInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onTaskStart(SparkListenerTaskStart event) {
        try {
            ledger.taskStarted(event.stageId(), event.stageAttemptId(), event.taskInfo());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
        try {
            ledger.taskEnded(event.stageId(), event.stageAttemptId(), event.taskInfo(), event.taskMetrics());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onExecutorAdded(SparkListenerExecutorAdded event) {
        try {
            ledger.executorAdded(event.executorId(), event.executorInfo().executorHost(),
                event.executorInfo().totalCores());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        try {
            ledger.executorRemoved(event.executorId(), event.time());
        } catch (Throwable problem) {
            note(problem);
        }
    }

    public synchronized void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate event) {
        try {
            ledger.executorTold(event.execId(), event.executorUpdates());
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

    private void other(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart) {
            SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
            ledger.plans.planned(start.executionId(), start.rootExecutionId(), start.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLAdaptiveExecutionUpdate) {
            SparkListenerSQLAdaptiveExecutionUpdate update = (SparkListenerSQLAdaptiveExecutionUpdate) event;
            ledger.plans.planned(update.executionId(), scala.Option.empty(), update.sparkPlanInfo());
        } else if (event instanceof SparkListenerSQLExecutionEnd) {
            ledger.plans.ended(((SparkListenerSQLExecutionEnd) event).executionId());
        } else if (event instanceof StreamingQueryListener.QueryProgressEvent) {
            Ledger.Note note = new Ledger.Note("progress");
            // Now, and not in a look: a hundred of them would hold up events.
            String text = ((StreamingQueryListener.QueryProgressEvent) event).progress().json();
            note.fields.put("progress", new RawValue(Progress.withoutTexts(text)));
            ledger.add(note);
        } else if (event instanceof StreamingQueryListener.QueryStartedEvent) {
            StreamingQueryListener.QueryStartedEvent start = (StreamingQueryListener.QueryStartedEvent) event;
            Ledger.Note note = new Ledger.Note("started");
            note.fields.put("id", start.id().toString());
            note.fields.put("run", start.runId().toString());
            note.fields.put("name", start.name());
            ledger.add(note);
        } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
            StreamingQueryListener.QueryTerminatedEvent end = (StreamingQueryListener.QueryTerminatedEvent) event;
            ledger.queryEnded(end.id().toString());
            Ledger.Note note = new Ledger.Note("terminated");
            note.fields.put("id", end.id().toString());
            note.fields.put("run", end.runId().toString());
            note.fields.put("error", end.exception().isDefined() ? Queries.firstLine(end.exception().get()) : null);
            ledger.add(note);
        }
    }

    private void note(Throwable problem) {
        failures++;
        failure = Queries.firstLine(problem);
    }

}
