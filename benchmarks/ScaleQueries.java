package elastream.testing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * Queries that look like Spark's to who asks them by the names of their methods; a script moves them on.
 *
 * Compiled by Janino: no generics, no lambdas.
 */
public class ScaleQueries {
    public final Map all = new LinkedHashMap();

    public Map activeStreamingQueries() {
        return all;
    }

    /** Lines of: id, batch, trigger ms, partitions, committed per partition, planned, newest. */
    public void set(String script) {
        String[] lines = script.split("\n");
        for (int i = 0; i < lines.length; i++) {
            String[] words = lines[i].split("\t");
            Query query = (Query) all.get(words[0]);
            if (query == null) {
                query = new Query(words[0], Integer.parseInt(words[3]));
                all.put(words[0], query);
            }
            query.batch = Long.parseLong(words[1]);
            query.triggerMs = Long.parseLong(words[2]);
            query.committed = Long.parseLong(words[4]);
            query.available = Long.parseLong(words[5]);
            query.stream.newest = Long.parseLong(words[6]);
            query.stream.atMs = query.triggerMs;
        }
    }

    public static class Query {
        public final KafkaMicroBatchStream stream;
        private final String id;
        public long batch = 0;
        public long triggerMs = 0;
        public long committed = 0;
        public long available = 0;

        public Query(String id, int partitions) {
            this.id = id;
            this.stream = new KafkaMicroBatchStream("topic-" + id, partitions);
        }

        public Object id() {
            return id;
        }

        public Object runId() {
            return id;
        }

        public Object name() {
            return "query-" + id.substring(id.length() - 3);
        }

        public Object trigger() {
            return "ProcessingTimeTrigger(5000)";
        }

        public Object isActive() {
            return Boolean.TRUE;
        }

        public Object status() {
            return this;
        }

        public Object message() {
            return "Processing new data";
        }

        public Object isTriggerActive() {
            return Boolean.TRUE;
        }

        public Object isDataAvailable() {
            return Boolean.TRUE;
        }

        public Object getLatestExecutionContext() {
            return this;
        }

        public Object batchId() {
            return Long.valueOf(batch);
        }

        public Object isCurrentBatchConstructed() {
            return Boolean.TRUE;
        }

        public Object currentTriggerStartTimestamp() {
            return Long.valueOf(triggerMs);
        }

        public Object sources() {
            return new scala.collection.immutable.$colon$colon(stream, scala.collection.immutable.Nil$.MODULE$);
        }

        public Object committedOffsets() {
            return offsets(committed);
        }

        public Object availableOffsets() {
            return offsets(available);
        }

        public Object latestOffsets() {
            return offsets(available);
        }

        private Object offsets(long number) {
            return new scala.collection.immutable.Map.Map1(stream, new Offset(stream, number));
        }

        public Object logicalPlan() {
            return this;
        }

        public Object collectLeaves() {
            return new scala.collection.immutable.$colon$colon(new Leaf(stream), scala.collection.immutable.Nil$.MODULE$);
        }
    }

    public static class Leaf {
        private final Object stream;

        public Leaf(Object stream) {
            this.stream = stream;
        }

        public Object stream() {
            return stream;
        }
    }

    public static class Offset {
        private final KafkaMicroBatchStream stream;
        private final long number;

        public Offset(KafkaMicroBatchStream stream, long number) {
            this.stream = stream;
            this.number = number;
        }

        public String json() {
            StringBuilder text = new StringBuilder("{\"" + stream.topic + "\":{");
            for (int i = 0; i < stream.partitions; i++) {
                text.append(i == 0 ? "\"" : ",\"").append(i).append("\":").append(number);
            }
            return text.append("}}").toString();
        }
    }

    /** What the brokers would answer. */
    public static class Logs implements BiFunction {
        public Object apply(Object of, Object session) {
            KafkaMicroBatchStream stream = (KafkaMicroBatchStream) of;
            Map parts = new HashMap();
            for (int i = 0; i < stream.partitions; i++) {
                List pair = new ArrayList();
                pair.add(Long.valueOf(0));
                pair.add(Long.valueOf(stream.newest));
                parts.put(String.valueOf(i), pair);
            }
            Map ends = new HashMap();
            ends.put(stream.topic, parts);
            Map seen = new LinkedHashMap();
            seen.put("at_ms", Long.valueOf(stream.atMs));
            seen.put("ends", ends);
            seen.put("problem", null);
            return seen;
        }
    }
}

class KafkaMicroBatchStream {
    public final String topic;
    public final int partitions;
    public long newest = 0;
    public long atMs = 0;

    public KafkaMicroBatchStream(String topic, int partitions) {
        this.topic = topic;
        this.partitions = partitions;
    }
}
