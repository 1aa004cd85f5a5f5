package elastream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A progress as far as anybody reads it outside of the JVM.
 *
 * Descriptions of sources and sinks may quote options, and metrics that a query observes are made of its rows: they
 * stay here. Compiled in the driver by Janino: no generics, no lambdas.
 */
public class Progress {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static String withoutTexts(String progress) {
        try {
            ObjectNode all = (ObjectNode) JSON.readTree(progress);
            all.remove("name");
            all.remove("observedMetrics");
            JsonNode sources = all.path("sources");
            for (int i = 0; i < sources.size(); i++) {
                ((ObjectNode) sources.get(i)).remove("description");
                ((ObjectNode) sources.get(i)).remove("metrics");
            }
            if (all.path("sink").isObject()) {
                ObjectNode sink = (ObjectNode) all.path("sink");
                // Of what a sink is, its class is enough.
                sink.put("description", sink.path("description").asText().replaceAll("(?s)[^\\w.$].*", ""));
                sink.remove("metrics");
            }
            return all.toString();
        } catch (Exception problem) {
            throw new IllegalStateException("a progress that is not as Spark writes it", problem);
        }
    }
}
