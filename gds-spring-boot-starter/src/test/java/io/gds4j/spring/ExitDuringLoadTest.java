package io.gds4j.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that is told to end while its application starts. */
@Tag("slow")
class ExitDuringLoadTest {
    private static final int PATIENCE_MILLIS = 60_000;

    @TempDir
    private Path folder;

    /** It once waited until the load had ended: Spring closes no context that is being made. */
    @Test
    void processEndsInTheMiddleOfALoad() throws IOException, InterruptedException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            silent.setSoTimeout(PATIENCE_MILLIS);
            Process child = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                    StartingChild.class.getName(),
                    "http://127.0.0.1:%s/model.safetensors".formatted(silent.getLocalPort()))
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("output").toFile())
                    .start();
            try (Socket _ = silent.accept()) { // the load waits for its answer
                child.destroy();
                assertThat(child.waitFor(PATIENCE_MILLIS / 3, TimeUnit.MILLISECONDS)).isTrue();
            } finally {
                child.destroyForcibly();
            }
        }
    }
}
