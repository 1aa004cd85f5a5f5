package elastream;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import scala.Option;
import scala.Tuple2;

/**
 * What an application may ask of its cluster: how many executors, and which of them should go.
 *
 * The same back end serves standalone clusters, YARN and Kubernetes. The total is changed by `request` alone: were
 * those that go also taken off it here, nobody would know what it is. Compiled in the driver by Janino, so no generics
 * and no lambdas.
 */
public class Backend {
    private final SparkContext context;

    public Backend(SparkContext context) {
        this.context = context;
    }

    /** Executors that are registered, then those among them that are on their way out; one line each. */
    public String state() {
        CoarseGrainedSchedulerBackend backend = backend();
        StringBuilder registered = new StringBuilder();
        StringBuilder leaving = new StringBuilder();
        scala.collection.Iterator ids = backend.getExecutorIds().iterator();
        while (ids.hasNext()) {
            String id = (String) ids.next();
            add(registered, id);
            if (!backend.isExecutorActive(id)) {
                add(leaving, id);
            }
        }
        return registered + "\n" + leaving;
    }

    /** Have so many in all. Blocks until the cluster manager has answered. */
    public boolean request(int total) {
        return context.requestTotalExecutors(total, 0, scala.collection.immutable.Map$.MODULE$.empty());
    }

    /** Let executors finish what they run, move their blocks, and go. */
    public String decommission(String ids, String reason) {
        String[] names = ids.split(",");
        Tuple2[] pairs = new Tuple2[names.length];
        for (int i = 0; i < names.length; i++) {
            pairs[i] = new Tuple2(names[i], new ExecutorDecommissionInfo(reason, Option.empty()));
        }
        StringBuilder accepted = new StringBuilder();
        scala.collection.Iterator told = backend().decommissionExecutors(pairs, false, false).iterator();
        while (told.hasNext()) {
            add(accepted, (String) told.next());
        }
        return accepted.toString();
    }

    /** End an executor at once; what it ran runs again elsewhere. */
    public boolean kill(String id) {
        // The same in Scala 2.12 and 2.13.
        scala.collection.immutable.List ids =
            new scala.collection.immutable.$colon$colon(id, scala.collection.immutable.Nil$.MODULE$);
        return !backend().killExecutors(ids, false, false, true).isEmpty();
    }

    private CoarseGrainedSchedulerBackend backend() {
        return (CoarseGrainedSchedulerBackend) context.schedulerBackend();
    }

    private static void add(StringBuilder line, String id) {
        line.append(line.length() > 0 ? "," : "").append(id);
    }
}
