package elastream;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.kafka010.ConsumerStrategy;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;

/**
 * What the topics of Kafka sources hold now, asked with the options of the query that reads them.
 *
 * Each source has a thread and a client of its own, so that a broker that does not answer delays neither a look nor the
 * query. The options, which may hold secrets, stay in here. A source that nobody asks about any more is given up.
 * Compiled in the driver by Janino: no generics, no lambdas.
 */
public class KafkaLogs implements BiFunction {
    private static final long EVERY_MS = 1000;
    private static final long LONGEST_PAUSE_MS = 3000;
    private static final long GIVE_UP_AFTER_MS = 60000;
    private static final int TIMEOUT_MS = 5000;
    /** The past is asked for at 1, 2, 4, ... seconds ago, up to a day and a half. */
    private static final int DOUBLINGS = 18;

    private final Map logs = new IdentityHashMap();

    /** What is known of the log behind a stream; with the session of its query once the first batch was planned. */
    public synchronized Object apply(Object stream, Object session) {
        for (Iterator all = logs.values().iterator(); all.hasNext();) {
            if (((Log) all.next()).ended) {
                all.remove();
            }
        }
        Log log = (Log) logs.get(stream);
        if (log == null) {
            log = new Log((KafkaMicroBatchStream) stream);
            logs.put(stream, log);
            Thread thread = new Thread(log, "elastream-kafka");
            thread.setDaemon(true);
            thread.start();
        }
        return log.seen((SparkSession) session);
    }

    /** Ask nobody any more. */
    public synchronized void close() {
        for (Iterator all = logs.values().iterator(); all.hasNext();) {
            ((Log) all.next()).end();
        }
        logs.clear();
    }

    /** One source. */
    public static class Log implements Runnable {
        private final KafkaMicroBatchStream stream;
        private final long beganMs = System.currentTimeMillis();
        private volatile long askedMs = System.currentTimeMillis();
        private volatile SparkSession session = null;
        public volatile boolean ended = false;
        private Admin admin = null;
        private ConsumerStrategy strategy = null;
        private ListOffsetsOptions options = null;
        private long atMs = 0;
        private Map ends = new HashMap();
        private List past = null;
        private String first = null;
        private String problem = null;

        public Log(KafkaMicroBatchStream stream) {
            this.stream = stream;
        }

        public synchronized Map seen(SparkSession planned) {
            askedMs = System.currentTimeMillis();
            session = planned == null ? session : planned;
            Map seen = new LinkedHashMap();
            seen.put("at_ms", Long.valueOf(atMs));
            seen.put("ends", ends);
            seen.put("first", first);
            seen.put("problem", problem);
            // Whoever needs it has had it by then.
            if (askedMs - beganMs < GIVE_UP_AFTER_MS) {
                seen.put("past", past);
            }
            return seen;
        }

        public synchronized void end() {
            ended = true;
            notifyAll();
        }

        public void run() {
            long pauseMs = EVERY_MS;
            try {
                while (!ended && System.currentTimeMillis() - askedMs < GIVE_UP_AFTER_MS) {
                    try {
                        ask();
                        pauseMs = EVERY_MS;
                    } catch (Throwable wrong) {
                        note(wrong);
                        pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
                    }
                    synchronized (this) {
                        if (!ended) {
                            wait(pauseMs);
                        }
                    }
                }
            } catch (InterruptedException told) {
                // The JVM ends.
            } finally {
                ended = true;
                if (admin != null) {
                    admin.close(Duration.ZERO);
                }
            }
        }

        private void ask() throws Exception {
            if (admin == null) {
                connect();
            }
            List partitions = new ArrayList();
            scala.collection.Iterator all = strategy.assignedTopicPartitions(admin).iterator();
            while (all.hasNext()) {
                partitions.add(all.next());
            }
            long beganMs = System.currentTimeMillis();
            ListOffsetsResult oldest = offsets(partitions, OffsetSpec.earliest());
            ListOffsetsResult newest = offsets(partitions, OffsetSpec.latest());
            Map low = numbers(oldest, Collections.EMPTY_MAP);
            Map high = numbers(newest, Collections.EMPTY_MAP);
            long midMs = (beganMs + System.currentTimeMillis()) / 2;
            List before = past == null ? history(partitions, high, midMs) : past;
            String began = first;
            if (began == null && session != null) {
                // Written to the checkpoint when the first batch was planned; from then on this only reads it. It asks
                // for the session of the thread that it runs in.
                SparkSession.setActiveSession(session);
                began = stream.initialOffset().json();
            }
            Map pairs = new HashMap();
            for (Iterator each = partitions.iterator(); each.hasNext();) {
                Object partition = each.next();
                List pair = new ArrayList();
                pair.add(low.get(partition));
                pair.add(high.get(partition));
                pairs.put(partition, pair);
            }
            Map found = byTopic(pairs);
            synchronized (this) {
                atMs = midMs;
                ends = found;
                past = before;
                first = began;
                problem = null;
            }
        }

        private void connect() throws Exception {
            Object reader = stream.kafkaOffsetReader();
            Field field = reader.getClass().getDeclaredField("consumerStrategy");
            field.setAccessible(true);
            strategy = (ConsumerStrategy) field.get(reader);
            Map given = new HashMap(stream.kafkaOffsetReader().driverKafkaParams());
            boolean committed = "read_committed".equals(given.get("isolation.level"));
            options = new ListOffsetsOptions(committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED);
            given.put("client.id", "elastream");
            given.put("default.api.timeout.ms", String.valueOf(TIMEOUT_MS));
            given.put("request.timeout.ms", String.valueOf(TIMEOUT_MS - 1000));
            given.put("reconnect.backoff.ms", String.valueOf(2 * EVERY_MS));
            given.put("reconnect.backoff.max.ms", String.valueOf(LONGEST_PAUSE_MS));
            admin = strategy.createAdmin(given);
        }

        private ListOffsetsResult offsets(List partitions, OffsetSpec which) {
            Map asked = new HashMap();
            for (Iterator each = partitions.iterator(); each.hasNext();) {
                asked.put(each.next(), which);
            }
            return admin.listOffsets(asked, options);
        }

        private Map numbers(ListOffsetsResult answer, Map where) throws Exception {
            Map found = new HashMap();
            Map all = (Map) answer.all().get((long) TIMEOUT_MS, TimeUnit.MILLISECONDS);
            for (Iterator entries = all.entrySet().iterator(); entries.hasNext();) {
                Map.Entry entry = (Map.Entry) entries.next();
                long offset = ((ListOffsetsResult.ListOffsetsResultInfo) entry.getValue()).offset();
                // No record is as young as that: all of them had come.
                found.put(entry.getKey(), offset < 0 ? where.get(entry.getKey()) : Long.valueOf(offset));
            }
            return found;
        }

        private List history(List partitions, Map newest, long nowMs) throws Exception {
            List answers = new ArrayList();
            for (int i = DOUBLINGS - 1; i >= 0; i--) {
                answers.add(offsets(partitions, OffsetSpec.forTimestamp(nowMs - (1000L << i))));
            }
            List found = new ArrayList();
            for (int i = 0; i < DOUBLINGS; i++) {
                Map then = new LinkedHashMap();
                then.put("at_ms", Long.valueOf(nowMs - (1000L << (DOUBLINGS - 1 - i))));
                then.put("ends", byTopic(numbers((ListOffsetsResult) answers.get(i), newest)));
                found.add(then);
            }
            return found;
        }

        private Map byTopic(Map byPartition) {
            Map topics = new HashMap();
            for (Iterator entries = byPartition.entrySet().iterator(); entries.hasNext();) {
                Map.Entry entry = (Map.Entry) entries.next();
                TopicPartition partition = (TopicPartition) entry.getKey();
                Map topic = (Map) topics.get(partition.topic());
                if (topic == null) {
                    topic = new HashMap();
                    topics.put(partition.topic(), topic);
                }
                topic.put(String.valueOf(partition.partition()), entry.getValue());
            }
            return topics;
        }

        private synchronized void note(Throwable wrong) {
            Throwable cause = wrong instanceof ExecutionException && wrong.getCause() != null ? wrong.getCause() : wrong;
            String said = String.valueOf(cause.getMessage());
            int end = said.indexOf('\n');
            problem = cause.getClass().getSimpleName() + ": " + (end < 0 ? said : said.substring(0, end));
        }
    }
}
