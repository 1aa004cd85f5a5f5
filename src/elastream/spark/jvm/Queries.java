package elastream;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * What every active query of the application is doing now, whichever session started it.
 *
 * Reads what the queries' own threads have published and never takes a lock of theirs, nor computes anything lazily
 * for them. Spark moves these classes between packages from version to version, so they are asked by name. Compiled
 * in the driver by Janino: no generics, no lambdas.
 */
public class Queries implements Supplier {
    /** All options that anybody reads outside of the JVM. Others may be secret, whatever their names. */
    private static final Pattern TOLD = Pattern.compile("(?i)rowsPerSecond|rampUpTime|kafka[.]bootstrap[.]servers");
    /** The source that is ours, with its generators, which have options of their own. */
    private static final String OURS = "elastream";
    private static final int MOST_TEXT = 300;
    private static final String TRIGGER_START =
        "org$apache$spark$sql$execution$streaming$ProgressReporter$$currentTriggerStartTimestamp";

    private final Object shared;
    private final ObjectMapper json = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private final Map methods = new HashMap();
    /** Sources of a run: they are what they are from its first batch on. */
    private final Map described = new HashMap();
    /** The streams of a run, in the same order. */
    private final Map streamed = new HashMap();
    /** Who asks the logs behind streams of a class, by its simple name. */
    private final Map asking = new HashMap();
    private long failures = 0;
    private String failure = null;

    public Queries(Object shared) {
        this.shared = shared;
    }

    /** One map per active query, and what we failed to read. */
    public synchronized Object get() {
        List found = new ArrayList();
        List runs = new ArrayList();
        Map active = (Map) ask(shared, "activeStreamingQueries");
        Iterator all = new ArrayList(active == null ? new ArrayList() : active.values()).iterator();
        while (all.hasNext()) {
            Object query = all.next();
            // Whatever cannot be read of a query: that it is active is known, or it would not be listed.
            Map seen = new LinkedHashMap();
            seen.put("active", Boolean.TRUE);
            found.add(seen);
            try {
                read(query, seen);
                runs.add(seen.get("run"));
            } catch (Throwable problem) {
                note(problem);
            }
        }
        described.keySet().retainAll(runs);
        streamed.keySet().retainAll(runs);
        Map seen = new LinkedHashMap();
        seen.put("queries", found);
        seen.put("query_failures", Long.valueOf(failures));
        seen.put("query_failure", failure);
        return seen;
    }

    private void read(Object query, Map seen) {
        seen.put("id", text(ask(query, "id")));
        seen.put("run", text(ask(query, "runId")));
        seen.put("name", text(ask(query, "name")));
        seen.put("trigger", text(ask(query, "trigger")));
        // A batch may begin or end while we read: what is read twice alike is of one moment.
        Map live = live(query);
        for (int i = 0; i < 3; i++) {
            Map before = live;
            live = live(query);
            if (live.equals(before)) {
                break;
            }
        }
        seen.putAll(live);
        String[] offsets = {"committed", "available", "latest"};
        for (int i = 0; i < offsets.length; i++) {
            seen.put(offsets[i], trees((List) seen.get(offsets[i])));
        }
        seen.put("described", describe(query, seen));
        seen.put("logs", logs(query, (List) streamed.get(seen.get("run")), (List) seen.get("available")));
    }

    /** From now on, the logs behind streams of that class are asked too. */
    public synchronized void askLogs(String kind, BiFunction logs) {
        asking.put(kind, logs);
    }

    /** Where a class of streams comes from: it may be seen from there alone. */
    public synchronized ClassLoader loaderOf(String kind) {
        for (Iterator runs = streamed.values().iterator(); runs.hasNext();) {
            for (Iterator streams = ((List) runs.next()).iterator(); streams.hasNext();) {
                Object stream = streams.next();
                if (stream.getClass().getSimpleName().equals(kind)) {
                    return stream.getClass().getClassLoader();
                }
            }
        }
        return null;
    }

    private List logs(Object query, List streams, List available) {
        List found = new ArrayList();
        for (int i = 0; streams != null && i < streams.size(); i++) {
            Object stream = streams.get(i);
            BiFunction logs = (BiFunction) asking.get(stream.getClass().getSimpleName());
            boolean planned = i < available.size() && available.get(i) != null;
            found.add(logs == null ? null : logs.apply(stream, planned ? ask(query, "sparkSession") : null));
        }
        return found;
    }

    private Map live(Object query) {
        Map seen = new LinkedHashMap();
        seen.put("active", ask(query, "isActive"));
        Object status = ask(query, "status");
        seen.put("message", text(ask(status, "message")));
        seen.put("trigger_active", ask(status, "isTriggerActive"));
        seen.put("data_available", ask(status, "isDataAvailable"));
        Object cause = ask(query, "streamDeathCause");
        seen.put("error", cause == null ? null : text(((Throwable) cause).getMessage()));
        Object context = ask(query, "getLatestExecutionContext");
        if (context != null) {
            seen.put("batch", ask(context, "batchId"));
            seen.put("constructed", ask(context, "isCurrentBatchConstructed"));
            seen.put("trigger_ms", ask(context, "currentTriggerStartTimestamp"));
            seen.put("watermark_ms", ask(ask(context, "offsetSeqMetadata"), "batchWatermarkMs"));
        }
        Object sources = ask(query, "sources");
        seen.put("committed", offsets(sources, ask(query, "committedOffsets")));
        seen.put("available", offsets(sources, ask(query, "availableOffsets")));
        seen.put("latest", offsets(sources, ask(query, "latestOffsets")));
        if (context == null) {
            // Spark 3.5 keeps these in the query itself; whether a batch is in hand, its offsets tell.
            seen.put("batch", ask(query, "currentBatchId"));
            seen.put("constructed", Boolean.valueOf(!seen.get("available").equals(seen.get("committed"))));
            seen.put("trigger_ms", ask(query, TRIGGER_START));
            seen.put("watermark_ms", ask(ask(query, "offsetSeqMetadata"), "batchWatermarkMs"));
        }
        return seen;
    }

    /** One offset per source, in the order in which a progress lists its sources. */
    private List offsets(Object sources, Object progress) {
        List found = new ArrayList();
        if (sources == null || progress == null) {
            return found;
        }
        scala.collection.Iterator all = ((scala.collection.Iterable) sources).iterator();
        while (all.hasNext()) {
            scala.Option offset = ((scala.collection.Map) progress).get(all.next());
            Object known = offset.isDefined() ? offset.get() : null;
            Object json = known == null ? null : ask(known, "json");
            found.add(json == null ? null : json.toString());
        }
        return found;
    }

    /** Offsets are JSON for most sources, and a bare string for some. */
    private List trees(List texts) {
        List found = new ArrayList();
        for (Iterator each = texts.iterator(); each.hasNext();) {
            String text = (String) each.next();
            Object tree = text;
            try {
                tree = text == null || text.isEmpty() ? text : json.readTree(text);
            } catch (Exception bare) {
                // As it is.
            }
            found.add(tree);
        }
        return found;
    }

    private Map describe(Object query, Map seen) {
        Map known = (Map) described.get(seen.get("run"));
        // Before its first batch, only the query's own thread may touch its logical plan.
        Object batch = seen.get("batch");
        if (known != null || !(batch instanceof Long) || ((Long) batch).longValue() < 0) {
            return known;
        }
        List sources = new ArrayList();
        List streams = new ArrayList();
        Object limits = ask(query, "uniqueSources");
        scala.collection.Iterator all = ((scala.collection.Iterable) ask(query, "sources")).iterator();
        while (all.hasNext()) {
            Object stream = all.next();
            streams.add(stream);
            Map source = new LinkedHashMap();
            source.put("class", stream.getClass().getName());
            source.put("limit", limit(limits, stream));
            source.put("creation_ms", ask(stream, "creationTimeMs"));
            sources.add(source);
        }
        List leaves = new ArrayList();
        Object plan = ask(query, "logicalPlan");
        scala.collection.Iterator nodes = ((scala.collection.Iterable) ask(plan, "collectLeaves")).iterator();
        while (nodes.hasNext()) {
            Object leaf = nodes.next();
            Object stream = ask(leaf, "stream");
            int place = streams.indexOf(stream == null ? ask(leaf, "source") : stream);
            leaves.add(Integer.valueOf(place));
            if (place >= 0) {
                Object relation = ask(leaf, "relation");
                Map source = (Map) sources.get(place);
                source.put("table", text(ask(ask(relation, "table"), "name")));
                source.put("options", options(ask(relation, "options"), OURS.equals(source.get("table"))));
            }
        }
        Map fresh = new LinkedHashMap();
        fresh.put("sources", sources);
        fresh.put("leaves", leaves);
        described.put(seen.get("run"), fresh);
        streamed.put(seen.get("run"), streams);
        return fresh;
    }

    private String limit(Object limits, Object stream) {
        scala.Option limit = limits == null ? null : ((scala.collection.Map) limits).get(stream);
        return limit == null || !limit.isDefined() ? null : text(limit.get());
    }

    private Map options(Object given, boolean ours) {
        Map all = (Map) ask(given, "asCaseSensitiveMap");
        if (all == null) {
            return null;
        }
        Map told = new LinkedHashMap();
        for (Iterator entries = all.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            if (ours || TOLD.matcher((String) entry.getKey()).matches()) {
                told.put(entry.getKey(), entry.getValue());
            }
        }
        return told;
    }

    /** What a method without parameters answers, or null where there is none. */
    private Object ask(Object subject, String name) {
        if (subject == null) {
            return null;
        }
        try {
            Method method = method(subject.getClass(), name);
            return method == null ? null : method.invoke(subject, new Object[0]);
        } catch (InvocationTargetException problem) {
            note(problem.getCause());
        } catch (Throwable problem) {
            note(problem);
        }
        return null;
    }

    private Method method(Class of, String name) {
        String key = of.getName() + "." + name;
        if (!methods.containsKey(key)) {
            Method found = null;
            try {
                found = of.getMethod(name, new Class[0]);
                found.setAccessible(true);
            } catch (NoSuchMethodException absent) {
                // Other versions and other sources do without it.
            }
            methods.put(key, found);
        }
        return (Method) methods.get(key);
    }

    private void note(Throwable problem) {
        failures++;
        failure = text(problem);
    }

    private static String text(Object of) {
        return of == null ? null : firstLine(of);
    }

    /** The first line of it: of errors Spark makes a message with a whole stack trace. */
    public static String firstLine(Object of) {
        String all = String.valueOf(of).trim();
        int end = all.indexOf('\n');
        String first = end < 0 ? all : all.substring(0, end);
        if (first.length() <= MOST_TEXT) {
            return first;
        }
        // Between words: half of an address with a password in it would no longer be known for one.
        int word = first.lastIndexOf(' ', MOST_TEXT);
        return first.substring(0, word > 0 ? word : MOST_TEXT);
    }
}
