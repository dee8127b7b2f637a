package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.source.Cancellation;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many objects of a server: they share connections, threads and descriptors. */
@Tag("slow")
class HttpSourcePoolTest {
    private static final int OBJECTS = 300;
    private static final byte[] BYTES = RangeServer.random(100);

    private final RangeServer server = new RangeServer();
    private final Set<Object> connected = ConcurrentHashMap.newKeySet();

    @AfterEach
    void stop() {
        server.close();
    }

    private URI watched(String path) {
        server.on((exchange, request) -> {
            connected.add(exchange.getRemoteAddress());
            return false;
        });
        return server.put(path, BYTES);
    }

    @Test
    void objectsOfEqualOptionsShareConnections() throws IOException {
        URI uri = watched("/x");
        for (int i = 0; i < 20; i++) {
            HttpOptions equal = HttpOptions.DEFAULTS.withHeader("Key", "one");
            assertThat(HttpSource.open(uri, equal).size()).isEqualTo(BYTES.length);
            assertThat(Files.size(HttpFiles.path(uri, equal))).isEqualTo(BYTES.length);
        }
        assertThat(connected).hasSize(1);
        HttpSource.open(uri, HttpOptions.DEFAULTS.withHeader("Key", "other"));
        assertThat(connected).hasSize(2);
    }

    @Test
    void objectsOfEqualCredentialsShareConnections() throws IOException {
        watched("/bucket/x");
        for (int i = 0; i < 20; i++) {
            S3Options equal = S3Options.fromEnvironment(Map.of(
                    "AWS_ENDPOINT_URL", server.uri("").toString(), "AWS_ACCESS_KEY_ID", "a", "AWS_SECRET_ACCESS_KEY",
                    "b", "HOME", "/nonexistent"));
            assertThat(Files.size(S3Files.path(URI.create("s3://bucket/x"), equal))).isEqualTo(BYTES.length);
        }
        assertThat(connected).hasSize(1);
        for (int i = 0; i < 20; i++) {
            S3Options other = S3Options.fromEnvironment(Map.of("HOME", "/nonexistent"))
                    .withEndpoint(server.uri("")).withCredentials(S3Credentials.of("c", "d"));
            assertThat(Files.size(S3Files.path(URI.create("s3://bucket/x"), other))).isEqualTo(BYTES.length);
        }
        assertThat(connected).hasSize(2);
    }

    /** The client of the JDK fails every request once its thread is gone, and was kept as long as requests came. */
    @Test
    void clientWhoseThreadHasEndedIsReplaced() throws InterruptedException {
        URI uri = server.put("/x", BYTES);
        HttpOptions options = HttpOptions.DEFAULTS.withHeader("Key", "ended");
        HttpSource.open(uri, options);
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().matches("HttpClient-\\d+-SelectorManager")) {
                thread.interrupt();
                thread.join();
            }
        }
        assertThat(HttpSource.open(uri, options).size()).isEqualTo(BYTES.length);
    }

    /** A connection that found no memory for its client stayed in use, and what waited for it hung. */
    @Test
    void connectionWhoseClientCannotBeMadeStaysFree() {
        URI uri = server.put("/long", RangeServer.random(100_000));
        HttpOptions options = HttpOptions.DEFAULTS.withRequests(1 << 20, 1).withHeader("Key", "no memory");
        HttpConnections connections = new HttpConnections(options, Signer.NONE, System::nanoTime);
        assertThatThrownBy(() -> withoutMemory(() -> HttpSource.open(uri, connections)))
                .isInstanceOf(OutOfMemoryError.class);
        S3Requests impatient = new S3Requests(connections, options, 0, Duration.ZERO);
        assertThat(impatient.send("GET", uri, new byte[0], Map.of("Range", "bytes=0-9")).statusCode()).isEqualTo(206);
        HttpSource source = HttpSource.open(uri, connections);
        ClientPool.of(options, Signer.NONE).take();
        byte[] all = new byte[100_000];
        assertThatThrownBy(() -> withoutMemory(
                () -> source.read(0, MemorySegment.ofArray(all), Cancellation.NEVER)))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(impatient.send("GET", uri, new byte[0], Map.of("Range", "bytes=0-9")).statusCode()).isEqualTo(206);
    }

    /** Runs a call that finds no memory as soon as it wants a new client, which asks for this property. */
    private static void withoutMemory(Callable<?> call) throws Exception {
        Properties before = System.getProperties();
        Thread caller = Thread.currentThread();
        Properties failing = new Properties() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getProperty(String key) {
                if (key.equals("gds4j.http") && Thread.currentThread() == caller) {
                    throw new OutOfMemoryError("of the test");
                }
                return super.getProperty(key);
            }
        };
        failing.putAll(before);
        System.setProperties(failing);
        try {
            call.call();
        } finally {
            System.setProperties(before);
        }
    }

    /** Maps kept them, and with them all that a program in a container of programs had loaded. */
    @Test
    void optionsAndCredentialsOfPathsThatAreGoneAreForgotten() {
        WeakReference<Object> credentials = new WeakReference<>(credentialsOfAPath());
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!credentials.refersTo(null) && System.nanoTime() < end) {
            System.gc();
        }
        assertThat(credentials.refersTo(null)).isTrue();
    }

    private static Object credentialsOfAPath() {
        Supplier<S3Credentials> credentials = new Supplier<>() {
            @Override
            public S3Credentials get() {
                return S3Credentials.ANONYMOUS;
            }
        };
        S3Options options = S3Options.fromEnvironment(Map.of("HOME", "/nonexistent"))
                .withCredentials(credentials);
        assertThat(S3Files.path(URI.create("s3://bucket/x"), options)).isAbsolute();
        return credentials;
    }

    /** Each open object kept a thread and three descriptors for 5 s. */
    @Test
    void fewDescriptorsSufficeAndTheirLimitIsNamed() throws Exception {
        server.put("/x", BYTES);
        Process opener = new ProcessBuilder(
                "sh", "-c", "ulimit -n 128; exec \"$@\"", "sh",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED",
                "-Dgds4j.http=" + System.getProperty("gds4j.http", "any"), "-cp",
                System.getProperty("java.class.path"), Opener.class.getName(), server.uri("/x").toString())
                .redirectErrorStream(true).start();
        String printed = new String(opener.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(opener.waitFor()).as(printed).isZero();
        String[] lines = printed.split("\n");
        assertThat(Integer.parseInt(lines[0])).as("threads more: %s", printed).isLessThan(8);
        assertThat(Integer.parseInt(lines[1])).as("descriptors more: %s", printed).isLessThan(16);
        assertThat(lines[2]).as(printed).contains("this process has no file descriptor left");
    }

    /** The process that opens many objects, and then one more after all descriptors are in use. */
    static final class Opener {
        private static final HttpOptions ONCE = HttpOptions.DEFAULTS.withPatience(
                HttpOptions.DEFAULTS.stallTimeout(), 1, HttpOptions.DEFAULTS.backoff());

        private static int threads() throws IOException {
            return Integer.parseInt(Files.readString(Path.of("/proc/self/status"))
                    .replaceAll("(?s).*Threads:\\s*(\\d+).*", "$1"));
        }

        private static int descriptors() {
            String[] names = Path.of("/proc/self/fd").toFile().list();
            return names == null ? -1 : names.length;
        }

        private static String failure(URI uri) {
            try {
                return String.valueOf(HttpSource.open(uri, ONCE).size());
            } catch (CuFileException e) {
                return e.getMessage();
            }
        }

        /** Prints threads and descriptors that many objects need, and why one cannot be opened. */
        public static void main(String[] url) throws IOException {
            URI uri = URI.create(url[0]);
            URI closed = URI.create("http://127.0.0.1:1/x");
            failure(closed); // loads the classes of failures, which needs descriptors
            int threads = threads();
            int descriptors = descriptors();
            for (int i = 0; i < OBJECTS; i++) {
                HttpSource.open(uri, ONCE);
            }
            System.out.println(threads() - threads);
            System.out.println(descriptors() - descriptors);
            List<InputStream> all = new ArrayList<>();
            try {
                while (true) {
                    all.add(new FileInputStream("/dev/null"));
                }
            } catch (IOException e) {
                System.out.println(failure(closed));
            }
        }
    }
}
