package io.gds4j.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Spark with executors in processes of their own. All tests with the same settings share a cluster; another setting stops it, because a
 * JVM has one. A test class names it by {@code @ExtendWith}.
 */
public final class LocalCluster implements BeforeAllCallback {
    private static @Nullable SparkSession session;
    private static Map<String, String> settings = Map.of();

    /** Stops the cluster after the last test class of this JVM. */
    @Override
    public void beforeAll(ExtensionContext context) {
        context.getRoot()
                .getStore(ExtensionContext.Namespace.GLOBAL)
                .getOrComputeIfAbsent(LocalCluster.class, key -> (AutoCloseable) LocalCluster::stop);
    }

    static synchronized void stop() {
        if (session != null) {
            session.stop();
            session = null;
        }
    }

    /** Returns the session of a cluster of two executors with one slot each. */
    public static SparkSession session() {
        return session(Map.of());
    }

    /** Returns the session of a cluster with further settings. */
    public static synchronized SparkSession session(Map<String, String> more) {
        if (!settings.equals(more)) {
            stop();
        }
        if (session == null) {
            session = start(more);
            settings = Map.copyOf(more);
        }
        return session;
    }

    private static SparkSession start(Map<String, String> more) {
        String home = System.getenv("SPARK_HOME");
        if (home == null) {
            throw new IllegalStateException("the environment variable SPARK_HOME names no folder; Maven sets it");
        }
        Path scratch;
        try {
            Files.createDirectories(Path.of(home, "jars"));
            scratch = Files.createDirectories(Path.of(home, "scratch"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        Map<String, String> conf = new TreeMap<>(Map.of(
                "spark.ui.enabled", "false",
                "spark.driver.bindAddress", "127.0.0.1",
                "spark.driver.host", "127.0.0.1",
                "spark.local.dir", scratch.toString(),
                "spark.sql.warehouse.dir", scratch.resolve("warehouse").toString(),
                "spark.executorEnv.JAVA_HOME", System.getProperty("java.home"),
                "spark.executor.extraClassPath", classPath,
                "spark.executor.extraJavaOptions",
                "--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
                        + " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "spark.gds4j.slots.timeout", "30s",
                "spark.plugins", GdsPlugin.class.getName()));
        // two attempts show a repetition; more take time only
        conf.put("spark.task.maxFailures", "2");
        conf.put("spark.stage.maxConsecutiveAttempts", "2");
        conf.putAll(more);
        SparkSession.Builder builder = SparkSession.builder().appName("gds4j");
        String master = conf.getOrDefault("spark.master", "local-cluster[2,1,1024]");
        conf.forEach(builder::config);
        return builder.master(master).getOrCreate();
    }
}
