package elastream;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;

/**
 * The plans of the executions that are going on, and which of their nodes a stage has worked for.
 *
 * A stage and a plan have nothing in common but the numbers of the metrics that one updates and the other declares,
 * and these are new in every batch. Compiled in the driver by Janino: no generics, no lambdas.
 */
public class Plans {
    /** Executions that never end, and shapes that never come again: kept up to here. */
    private static final int MOST_KEPT = 256;
    private static final int MOST_VERSIONS = 16;
    private static final Pattern OPERATOR = Pattern.compile("opId = (\\d+)");
    private static final Pattern ATTRIBUTE = Pattern.compile("#(\\d+)");

    private final Map executions = new Kept(MOST_KEPT);
    private final Map shapes = new Kept(MOST_KEPT);
    private int lastShape = 0;

    public void ended(long execution) {
        executions.remove(String.valueOf(execution));
    }

    /** A plan, or what adaptive execution has made of it. Stages that ran by an earlier one are still matched with it. */
    public void planned(long execution, scala.Option within, SparkPlanInfo root) {
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

    /** In which plans, of the batch itself first, a stage with these metrics has which nodes. */
    public List matches(String root, String execution, TreeSet ids) {
        List found = new ArrayList();
        String[] places = {root, execution};
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
                    break;
                }
            }
        }
        return found;
    }

    /** Forgets what was put in first. */
    public static class Kept extends LinkedHashMap {
        private final int most;

        public Kept(int most) {
            this.most = most;
        }

        protected boolean removeEldestEntry(Map.Entry eldest) {
            return size() > most;
        }
    }

    /** The nodes of a plan: [depth, name, mark], parents first. Most batches of a query have the same. */
    public static class Shape {
        public final int id;
        public final List nodes;

        public Shape(int id, List nodes) {
            this.id = id;
            this.nodes = nodes;
        }

        /** Whether one of these nodes is no exchange: two stages share an exchange, and no other node. */
        public boolean hasOwn(TreeSet places) {
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
        public List nodes = new ArrayList();
        public Shape shape = null;
        public final Map places = new HashMap();

        public boolean shares(Plan other) {
            for (Iterator each = other.places.keySet().iterator(); each.hasNext();) {
                if (places.containsKey(each.next())) {
                    return true;
                }
            }
            return false;
        }

        public TreeSet nodes(TreeSet ids) {
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

    /**
     * Nodes of a plan whose metrics a stage has updated; `root`: the plan is the query's own; `own`: some of them are
     * of this stage alone.
     */
    public static class Match {
        public final Shape shape;
        public final boolean root;
        public final TreeSet nodes;
        public final boolean own;

        public Match(Shape shape, boolean root, TreeSet nodes) {
            this.shape = shape;
            this.root = root;
            this.nodes = nodes;
            this.own = shape.hasOwn(nodes);
        }

        public Map map(Map used) {
            used.put(String.valueOf(shape.id), shape.nodes);
            Map map = new LinkedHashMap();
            map.put("shape", Integer.valueOf(shape.id));
            map.put("root", Boolean.valueOf(root));
            map.put("nodes", nodes);
            return map;
        }
    }
}
