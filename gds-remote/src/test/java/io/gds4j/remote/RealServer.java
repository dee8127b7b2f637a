package io.gds4j.remote;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A server of another project, started for a test on loopback and ended by it. */
final class RealServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Process process;

    /**
     * Starts a server and waits until it takes connections.
     *
     * @param log receives what it prints
     */
    RealServer(int port, Path log, List<String> command) throws IOException {
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        long begun = System.nanoTime();
        while (!takesConnections(port)) {
            if (!process.isAlive() || System.nanoTime() - begun > PATIENCE.toNanos()) {
                process.destroyForcibly();
                throw new IOException("%s did not start: %s".formatted(command.getFirst(), Files.readString(log)));
            }
            LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
        }
    }

    private static boolean takesConnections(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns a program: of the system property {@code gds4j.NAME}, of dev/servers.sh, or of PATH. Without it, the tests of its class
     * are skipped.
     *
     * @param remedy how to get it
     */
    static Path program(String name, String remedy) {
        Stream<Path> places = Stream.concat(
                Stream.of(Path.of(System.getProperty("gds4j." + name, "")), Path.of("../target/servers", name)),
                Stream.of((System.getenv("PATH") + ":/usr/sbin").split(":")).map(folder -> Path.of(folder, name)));
        return places.filter(file -> Files.isRegularFile(file) && Files.isExecutable(file)).findFirst()
                .map(Path::toAbsolutePath).orElseGet(() -> abort("no %s here: %s".formatted(name, remedy)));
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
