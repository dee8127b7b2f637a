package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A running program of perftest, and what it printed. */
record Perftest(Process process, CompletableFuture<String> text) {
    static final String DEVICE = System.getProperty("gds4j.rdma.device", "rxe0");
    static final String GID = System.getProperty("gds4j.rdma.gid", "1");
    private static final long SECONDS = 50;

    static Perftest start(String name, List<String> options) throws IOException {
        List<String> command = new ArrayList<>(List.of(name, "-d", DEVICE, "-x", GID, "-F"));
        command.addAll(options);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        return new Perftest(process, CompletableFuture.supplyAsync(() -> {
            try {
                return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                return e.toString();
            }
        }));
    }

    /** Waits for its end; afterwards it runs no more. */
    String end() throws Exception {
        boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly();
        }
        String printed = text.get(SECONDS, TimeUnit.SECONDS);
        assertThat(ended).as(printed).isTrue();
        assertThat(process.exitValue()).as(printed).isZero();
        return printed;
    }

    /** Waits until some program listens: a connection would be the one that it waits for. */
    static void awaitListener(int port, CompletableFuture<?> listener) throws IOException {
        String listening = String.format(Locale.ROOT, ":%04X ", port);
        while (!listener.isDone()) {
            for (String table : new String[]{"/proc/net/tcp", "/proc/net/tcp6"}) {
                for (String line : Files.readAllLines(Path.of(table))) {
                    if (line.contains(listening) && line.contains(" 0A ")) {
                        return;
                    }
                }
            }
            LockSupport.parkNanos(20_000_000);
        }
    }
}
