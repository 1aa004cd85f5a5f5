package elastream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobFilter;
import org.apache.hadoop.fs.Path;

/**
 * What the folders of file sources hold now, and which of it has been planned into batches.
 *
 * A source's folder is listed as Spark does it, but on the driver alone: Spark may start a job for it. Which files a
 * batch has is read from the source's own log in the checkpoint. Each source has a thread of its own, so that a slow
 * file system delays no look. Compiled in the driver by Janino: no generics, no lambdas.
 */
public class FileLogs implements BiFunction {
    private static final long EVERY_MS = 2000;
    private static final long LOG_EVERY_MS = 500;
    private static final long LONGEST_PAUSE_MS = 60000;
    /** Listing may take so much of the time at most. */
    private static final long PAUSES_PER_LISTING = 5;
    private static final long GIVE_UP_AFTER_MS = 60000;
    private static final int MOST_FILES = 500000;
    private static final int MOST_POINTS = 128;
    private static final int KEPT_BATCHES = 256;
    /** Files of a batch that are asked for one by one; the next listing finds the others. */
    private static final int MOST_ASKED = 100;

    private final Map logs = new IdentityHashMap();

    /** What is known of the folder behind a stream. */
    public synchronized Object apply(Object stream, Object session) {
        for (Iterator all = logs.values().iterator(); all.hasNext();) {
            if (((Log) all.next()).ended) {
                all.remove();
            }
        }
        Log log = (Log) logs.get(stream);
        if (log == null) {
            log = new Log(stream);
            logs.put(stream, log);
            Thread thread = new Thread(log, "elastream-files");
            thread.setDaemon(true);
            thread.start();
        }
        return log.seen();
    }

    /** List nothing any more. */
    public synchronized void close() {
        for (Iterator all = logs.values().iterator(); all.hasNext();) {
            ((Log) all.next()).end();
        }
        logs.clear();
    }

    /** A file that has been seen. */
    public static class Known {
        public long bytes = 0;
        public long atMs = 0;
        /** Whether a batch has it, or it is gone: it waits no longer. */
        public boolean taken = false;
    }

    public static class ByTime implements Comparator {
        public int compare(Object one, Object other) {
            return Long.compare(((Known) one).atMs, ((Known) other).atMs);
        }
    }

    /** One source. */
    public static class Log implements Runnable {
        private final Object stream;
        private final long beganMs = System.currentTimeMillis();
        private volatile long askedMs = System.currentTimeMillis();
        public volatile boolean ended = false;
        private final ObjectMapper json = new ObjectMapper();
        private FileSystem fs = null;
        private Path base = null;
        private Path logPath = null;
        private FileSystem logFs = null;
        private GlobFilter named = null;
        private boolean recursive = false;
        private boolean nameOnly = false;
        private long maxAgeMs = Long.MAX_VALUE;
        private long newestTakenMs = 0;
        private long lastBatch = -1;
        private long pauseMs = EVERY_MS;
        /** By path. */
        private final Map files = new HashMap();
        /** Of a batch that was read before the file was listed: by path, its number. */
        private final Map unlisted = new HashMap();
        /** By number, bytes and files. */
        private final TreeMap batches = new TreeMap();
        private List points = new ArrayList();
        private long arrivedBytes = 0;
        private long arrivedFiles = 0;
        private long waitingBytes = 0;
        private long waitingFiles = 0;
        private long atMs = 0;
        private long tookMs = 0;
        private Map told = new LinkedHashMap();
        private String problem = null;

        public Log(Object stream) {
            this.stream = stream;
        }

        public synchronized Map seen() {
            askedMs = System.currentTimeMillis();
            Map seen = new LinkedHashMap(told);
            seen.put("problem", problem);
            return seen;
        }

        public synchronized void end() {
            ended = true;
            notifyAll();
        }

        public void run() {
            try {
                while (!ended && System.currentTimeMillis() - askedMs < GIVE_UP_AFTER_MS) {
                    try {
                        if (base == null) {
                            connect();
                        }
                        if (System.currentTimeMillis() - atMs >= pauseMs) {
                            list();
                        } else {
                            readLog();
                        }
                        tell();
                    } catch (Throwable wrong) {
                        note(wrong);
                    }
                    synchronized (this) {
                        if (!ended) {
                            wait(problem == null ? LOG_EVERY_MS : EVERY_MS);
                        }
                    }
                }
            } catch (InterruptedException told) {
                // The JVM ends.
            } finally {
                ended = true;
            }
        }

        private void connect() throws Exception {
            fs = (FileSystem) field(stream, "fs");
            Map options = new HashMap();
            scala.collection.Iterator given = ((scala.collection.Map) field(stream, "options")).iterator();
            while (given.hasNext()) {
                scala.Tuple2 pair = (scala.Tuple2) given.next();
                options.put(String.valueOf(pair._1()).toLowerCase(), String.valueOf(pair._2()));
            }
            recursive = "true".equalsIgnoreCase((String) options.get("recursivefilelookup"));
            String pattern = (String) options.get("pathglobfilter");
            named = pattern == null ? null : new GlobFilter(pattern);
            nameOnly = ((Boolean) field(stream, "fileNameOnly")).booleanValue();
            maxAgeMs = ((Long) field(stream, "maxFileAgeMs")).longValue();
            Object log = field(stream, "metadataLog");
            logPath = (Path) log.getClass().getMethod("metadataPath", new Class[0]).invoke(log, new Object[0]);
            logFs = logPath.getFileSystem(fs.getConf());
            beginLog();
            base = (Path) field(stream, "qualifiedBasePath");
        }

        private static Object field(Object of, String name) throws Exception {
            Field found = of.getClass().getDeclaredField(name);
            found.setAccessible(true);
            return found.get(of);
        }

        /** What was in batches before the last two is nobody's business any more, and counts nothing. */
        private void beginLog() throws Exception {
            long last = -1;
            long compact = -1;
            FileStatus[] found = logFs.exists(logPath) ? logFs.listStatus(logPath) : new FileStatus[0];
            for (int i = 0; i < found.length; i++) {
                String name = found[i].getPath().getName();
                boolean whole = name.endsWith(".compact");
                String number = whole ? name.substring(0, name.length() - 8) : name;
                if (number.matches("\\d+")) {
                    last = Math.max(last, Long.parseLong(number));
                    compact = whole ? Math.max(compact, Long.parseLong(number)) : compact;
                }
            }
            if (compact >= 0) {
                readBatch(new Path(logPath, compact + ".compact"), -1, last - 1);
            }
            for (long number = compact + 1; number <= last; number++) {
                readBatch(new Path(logPath, String.valueOf(number)), number, last - 1);
            }
            lastBatch = last;
        }

        private void readLog() throws Exception {
            for (long next = lastBatch + 1;; next++) {
                Path plain = new Path(logPath, String.valueOf(next));
                Path compact = new Path(logPath, next + ".compact");
                if (logFs.exists(plain)) {
                    readBatch(plain, next, next);
                } else if (logFs.exists(compact)) {
                    readBatch(compact, next, next);
                } else {
                    return;
                }
                lastBatch = next;
                while (batches.size() > KEPT_BATCHES) {
                    batches.remove(batches.firstKey());
                }
            }
        }

        /** Entries of a batch, of all if it is negative; those before `counted` only mark their files. */
        private void readBatch(Path path, long batch, long counted) throws Exception {
            int asked = 0;
            BufferedReader lines = new BufferedReader(new InputStreamReader(logFs.open(path), "UTF-8"));
            try {
                lines.readLine();
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (batch >= 0 && !line.trim().endsWith(":" + batch + "}")) {
                        continue;
                    }
                    JsonNode entry = json.readTree(line);
                    long number = entry.get("batchId").asLong();
                    newestTakenMs = Math.max(newestTakenMs, entry.get("timestamp").asLong());
                    String file = entry.get("path").asText();
                    if (batch >= 0 && number > lastBatch && atMs > 0 && asked < MOST_ASKED) {
                        asked += findUnlisted(file) ? 1 : 0;
                    }
                    take(key(file), number, number >= counted);
                }
            } finally {
                lines.close();
            }
        }

        /** A file that came and was planned between two listings; it may be gone before the next one. */
        private boolean findUnlisted(String path) throws Exception {
            if (files.containsKey(key(path))) {
                return false;
            }
            Known file = new Known();
            file.atMs = atMs;
            try {
                FileStatus status = fs.getFileStatus(new Path(new java.net.URI(path)));
                file.bytes = status.getLen();
                file.atMs = Math.max(atMs, status.getModificationTime());
            } catch (FileNotFoundException gone) {
                file.bytes = arrivedFiles == 0 ? 0 : arrivedBytes / arrivedFiles;
            }
            files.put(key(path), file);
            arrivedBytes += file.bytes;
            arrivedFiles++;
            waitingBytes += file.bytes;
            waitingFiles++;
            List fresh = new ArrayList();
            fresh.add(file);
            draw(fresh);
            return true;
        }

        private void take(String key, long batch, boolean counts) {
            Known file = (Known) files.get(key);
            if (!counts) {
                file = new Known();
                file.taken = true;
                files.put(key, file);
            } else if (file == null) {
                unlisted.put(key, Long.valueOf(batch));
            } else if (!file.taken) {
                file.taken = true;
                waitingBytes -= file.bytes;
                waitingFiles--;
                into(batch, file.bytes);
            }
            if (counts) {
                into(batch, 0);
            }
        }

        private void into(long batch, long bytes) {
            long[] sum = (long[]) batches.get(Long.valueOf(batch));
            if (sum == null) {
                sum = new long[] {0, 0};
                batches.put(Long.valueOf(batch), sum);
            }
            sum[0] += bytes;
            sum[1] += bytes > 0 ? 1 : 0;
        }

        private void list() throws Exception {
            long startMs = System.currentTimeMillis();
            List found = new ArrayList();
            Object committed = committedFiles();
            if (committed != null) {
                scala.collection.Iterator all = ((scala.collection.Iterable) committed).iterator();
                while (all.hasNext()) {
                    Object entry = all.next();
                    String path = String.valueOf(ask(entry, "path"));
                    long bytes = ((Number) ask(entry, "size")).longValue();
                    found.add(new Object[] {key(path), Long.valueOf(bytes), ask(entry, "timestamp")});
                }
            } else {
                FileStatus[] roots = fs.globStatus(base);
                for (int i = 0; roots != null && i < roots.length; i++) {
                    walk(roots[i], true, found);
                }
            }
            long before = atMs;
            atMs = startMs;
            merge(found, before);
            readLog();
            tookMs = System.currentTimeMillis() - startMs;
            pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(EVERY_MS, PAUSES_PER_LISTING * tookMs));
        }

        /** A folder that another query writes holds files which that one never committed: Spark itself knows. */
        private Object committedFiles() throws Exception {
            if (!fs.exists(new Path(base, "_spark_metadata"))) {
                return null;
            }
            java.lang.reflect.Method fetch = stream.getClass().getDeclaredMethod("fetchAllFiles", new Class[0]);
            fetch.setAccessible(true);
            return fetch.invoke(stream, new Object[0]);
        }

        private static Object ask(Object of, String name) throws Exception {
            java.lang.reflect.Method method = of.getClass().getMethod(name, new Class[0]);
            method.setAccessible(true);
            return method.invoke(of, new Object[0]);
        }

        /** As Spark: files of the folder itself, those of folders called key=value, and of all folders if told so. */
        private void walk(FileStatus status, boolean isRoot, List found) throws Exception {
            String name = status.getPath().getName();
            boolean hidden = name.startsWith("_") && name.indexOf('=') < 0 || name.startsWith(".")
                || name.endsWith("._COPYING_");
            if (!isRoot && hidden) {
                return;
            }
            if (status.isDirectory()) {
                if (isRoot || recursive || name.indexOf('=') > 0) {
                    FileStatus[] inside;
                    try {
                        inside = fs.listStatus(status.getPath());
                    } catch (FileNotFoundException gone) {
                        return;
                    }
                    for (int i = 0; i < inside.length; i++) {
                        walk(inside[i], false, found);
                    }
                }
            } else if (named == null || named.accept(status.getPath())) {
                if (found.size() >= MOST_FILES) {
                    throw new IllegalStateException("more than " + MOST_FILES + " files; set cleanSource or a glob");
                }
                String key = key(status.getPath().toUri().toString());
                found.add(new Object[] {key, Long.valueOf(status.getLen()), Long.valueOf(status.getModificationTime())});
            }
        }

        private void merge(List found, long beforeMs) {
            List fresh = new ArrayList();
            Map there = new HashMap();
            for (int i = 0; i < found.size(); i++) {
                Object[] one = (Object[]) found.get(i);
                long bytes = ((Number) one[1]).longValue();
                long modifiedMs = ((Number) one[2]).longValue();
                there.put(one[0], Boolean.TRUE);
                Known file = (Known) files.get(one[0]);
                if (file == null) {
                    Long batch = (Long) unlisted.remove(one[0]);
                    if (batch == null && maxAgeMs < newestTakenMs && modifiedMs < newestTakenMs - maxAgeMs) {
                        // Too old for Spark to look at.
                        continue;
                    }
                    file = new Known();
                    file.bytes = bytes;
                    // One that was moved here is older than its arrival; it was not there at the listing before.
                    file.atMs = Math.min(atMs, Math.max(modifiedMs, beforeMs));
                    file.taken = batch != null;
                    files.put(one[0], file);
                    arrivedBytes += bytes;
                    arrivedFiles++;
                    fresh.add(file);
                    if (batch != null) {
                        into(batch.longValue(), bytes);
                    } else {
                        waitingBytes += bytes;
                        waitingFiles++;
                    }
                } else if (!file.taken && bytes != file.bytes) {
                    arrivedBytes += Math.max(0, bytes - file.bytes);
                    waitingBytes += bytes - file.bytes;
                    file.bytes = bytes;
                }
            }
            forget(there);
            draw(fresh);
        }

        private void forget(Map there) {
            for (Iterator all = files.entrySet().iterator(); all.hasNext();) {
                Map.Entry entry = (Map.Entry) all.next();
                Known file = (Known) entry.getValue();
                if (there.containsKey(entry.getKey())) {
                    continue;
                }
                if (!file.taken) {
                    // Gone unread: nobody will read it.
                    file.taken = true;
                    waitingBytes -= file.bytes;
                    waitingFiles--;
                }
                if (maxAgeMs < newestTakenMs && file.atMs < newestTakenMs - maxAgeMs) {
                    all.remove();
                }
            }
        }

        /** When how much had arrived. */
        private void draw(List fresh) {
            Collections.sort(fresh, new ByTime());
            long total = arrivedBytes;
            for (int i = 0; i < fresh.size(); i++) {
                total -= ((Known) fresh.get(i)).bytes;
            }
            for (int i = 0; i < fresh.size(); i++) {
                Known file = (Known) fresh.get(i);
                long[] last = points.isEmpty() ? null : (long[]) points.get(points.size() - 1);
                if (last == null || file.atMs > last[0]) {
                    points.add(new long[] {file.atMs, total});
                    last = new long[] {file.atMs + 1, total};
                    points.add(last);
                }
                total += file.bytes;
                last[1] = total;
            }
            while (points.size() > MOST_POINTS) {
                List thinner = new ArrayList();
                for (int i = 0; i < points.size(); i++) {
                    if (i % 2 == 0 || i == points.size() - 1) {
                        thinner.add(points.get(i));
                    }
                }
                points = thinner;
            }
        }

        private String key(String path) {
            try {
                Path known = new Path(new java.net.URI(path));
                return nameOnly ? known.getName() : known.toUri().toString();
            } catch (java.net.URISyntaxException odd) {
                return path;
            }
        }

        private synchronized void tell() {
            Map fresh = new LinkedHashMap();
            fresh.put("began_ms", Long.valueOf(beganMs));
            fresh.put("took_ms", Long.valueOf(tookMs));
            fresh.put("arrived", pair(arrivedBytes, arrivedFiles));
            fresh.put("waiting", pair(waitingBytes, waitingFiles));
            Map sums = new LinkedHashMap();
            for (Iterator all = batches.entrySet().iterator(); all.hasNext();) {
                Map.Entry entry = (Map.Entry) all.next();
                long[] sum = (long[]) entry.getValue();
                sums.put(String.valueOf(entry.getKey()), pair(sum[0], sum[1]));
            }
            fresh.put("batches", sums);
            List past = new ArrayList();
            for (int i = 0; i < points.size(); i++) {
                long[] point = (long[]) points.get(i);
                past.add(pair(point[0], point[1]));
            }
            fresh.put("past", past);
            Map now = new LinkedHashMap();
            now.put("at_ms", Long.valueOf(atMs));
            now.put("files", fresh);
            told = now;
            problem = null;
        }

        private static List pair(long one, long other) {
            List both = new ArrayList();
            both.add(Long.valueOf(one));
            both.add(Long.valueOf(other));
            return both;
        }

        private synchronized void note(Throwable wrong) {
            Throwable cause = wrong;
            while (cause instanceof java.lang.reflect.InvocationTargetException && cause.getCause() != null) {
                cause = cause.getCause();
            }
            String said = String.valueOf(cause.getMessage());
            int end = said.indexOf('\n');
            problem = cause.getClass().getSimpleName() + ": " + (end < 0 ? said : said.substring(0, end));
        }
    }
}
