package recording;

import java.util.Properties;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;

/**
 * Notes what the status store forgets: whose job it was, and which SQL metrics a stage updated.
 *
 * Compiled in the driver by Janino, so no generics and no lambdas. Notes are lines of tab-separated fields.
 */
public class JobNotes extends SparkListener {
    private StringBuilder notes = new StringBuilder();

    public synchronized void onJobStart(SparkListenerJobStart job) {
        Properties given = job.properties();
        notes.append("job\t").append(job.jobId());
        notes.append('\t').append(job.time());
        notes.append('\t').append(stageIds(job));
        notes.append('\t').append(property(given, "sql.streaming.queryId"));
        notes.append('\t').append(property(given, "streaming.sql.batchId"));
        notes.append('\t').append(property(given, "spark.sql.execution.id"));
        notes.append('\t').append(property(given, "spark.jobGroup.id"));
        notes.append('\n');
    }

    public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
        StageInfo stage = event.stageInfo();
        notes.append("stage\t").append(stage.stageId());
        notes.append('\t').append(stage.attemptNumber());
        notes.append('\t').append(joined(stage.accumulables().keysIterator()));
        notes.append('\n');
    }

    /** Everything noted since the last call. */
    public synchronized String drain() {
        String drained = notes.toString();
        notes = new StringBuilder();
        return drained;
    }

    /** The nodes of a physical plan, one line each: depth, name, ids of its metrics. */
    public String plan(SparkPlan root) {
        StringBuilder lines = new StringBuilder();
        describe(root, 0, lines);
        return lines.toString();
    }

    private void describe(SparkPlan node, int depth, StringBuilder lines) {
        StringBuilder ids = new StringBuilder();
        scala.collection.Iterator metrics = node.metrics().valuesIterator();
        while (metrics.hasNext()) {
            org.apache.spark.util.AccumulatorV2 metric = (org.apache.spark.util.AccumulatorV2) metrics.next();
            ids.append(ids.length() > 0 ? "," : "").append(metric.id());
        }
        lines.append(depth).append('\t').append(node.nodeName()).append('\t').append(ids).append('\n');
        if (node instanceof AdaptiveSparkPlanExec) {
            describe(((AdaptiveSparkPlanExec) node).executedPlan(), depth + 1, lines);
        } else if (node instanceof QueryStageExec) {
            describe(((QueryStageExec) node).plan(), depth + 1, lines);
        } else {
            scala.collection.Iterator children = node.children().iterator();
            while (children.hasNext()) {
                describe((SparkPlan) children.next(), depth + 1, lines);
            }
        }
    }

    private static String stageIds(SparkListenerJobStart job) {
        StringBuilder ids = new StringBuilder();
        scala.collection.Iterator stages = job.stageInfos().iterator();
        while (stages.hasNext()) {
            ids.append(ids.length() > 0 ? "," : "").append(((StageInfo) stages.next()).stageId());
        }
        return ids.toString();
    }

    private static String joined(scala.collection.Iterator items) {
        StringBuilder text = new StringBuilder();
        while (items.hasNext()) {
            text.append(text.length() > 0 ? "," : "").append(items.next());
        }
        return text.toString();
    }

    private static String property(Properties given, String key) {
        String value = given == null ? null : given.getProperty(key);
        return value == null ? "" : value;
    }
}
