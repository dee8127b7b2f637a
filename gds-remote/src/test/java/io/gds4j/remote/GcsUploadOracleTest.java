package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.GcsServer.Fault;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uploads to Google Cloud Storage whose parts meet random faults, beside what the server really holds: what is done is there, what may be there is
 * named, and requests are bounded. {@code -Dgds4j.property.seconds} and {@code -Dgds4j.property.seed} set length and seed.
 */
@Timeout(300)
class GcsUploadOracleTest {
    private static final int PART = 1 << 12;
    private static final byte[] OLD = {1, 2, 3};
    private static final int UPLOADS = 100;
    private static final int MOST_REQUESTS = 2000;
    private static final Fault[] FAULTS = Fault.values();

    @TempDir
    Path folder;

    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<Fault> happened = new CopyOnWriteArrayList<>();
    private int faults;

    private synchronized Fault next() {
        Fault fault = faults <= 0 ? random.nextBoolean() ? Fault.KEEP_SOME : Fault.KEEP_ALL
                : FAULTS[random.nextInt(FAULTS.length)];
        faults--;
        happened.add(fault);
        return fault;
    }

    @Test
    void uploadsTellWhatTheServerHolds() throws IOException {
        long end = System.nanoTime() + Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 0)).toNanos();
        int done = 0;
        try (GcsServer server = new GcsServer(new Random(seed))) {
            server.faults = this::next;
            for (int i = 0; i < UPLOADS || System.nanoTime() < end; i++) {
                done += upload(i, server) ? 1 : 0;
            }
        }
        assertThat(done).as("-Dgds4j.property.seed=%s", seed).isPositive();
    }

    private boolean upload(int number, GcsServer server) throws IOException {
        byte[] content = RangeServer.random(
                random.nextInt(8) == 0 ? PART * random.nextInt(4) : random.nextInt(4 * PART));
        Path file = Files.write(folder.resolve("file"), content);
        boolean onlyNew = random.nextBoolean();
        boolean wasThere = random.nextInt(4) == 0;
        server.objects.clear();
        server.requests.set(0);
        if (wasThere) {
            server.objects.put("x", new GcsServer.Stored(OLD, "foreign"));
        }
        happened.clear();
        synchronized (this) {
            faults = random.nextInt(5);
        }
        Path target = GcsFiles.path(URI.create("gs://models/x"), GcsOptions.fromEnvironment(java.util.Map.of())
                .withEndpoint(server.endpoint()).withPartBytes(PART)
                .withHttp(HttpOptions.DEFAULTS.withPatience(Duration.ofSeconds(30), 3, Duration.ofMillis(1))));
        String told = "";
        try {
            if (onlyNew) {
                S3Files.uploadNew(file, target);
            } else {
                S3Files.upload(file, target);
            }
        } catch (CuFileException e) {
            told = e.getMessage();
        }
        String shown = "-Dgds4j.property.seed=%d, upload %d of %d bytes, only new %s, was there %s, %s: %s".formatted(
                seed, number, content.length, onlyNew, wasThere, happened, told);
        GcsServer.Stored stored = server.objects.get("x");
        byte[] held = stored == null ? null : stored.bytes();
        boolean isThere = Arrays.equals(held, content);
        if (told.isEmpty()) {
            assertThat(isThere).as(shown).isTrue();
        } else if (isThere) {
            assertThat(told).as(shown).contains("may be there");
        } else if (held != null && !Arrays.equals(held, OLD)) {
            assertThat(told).as(shown).contains("with other bytes is there");
        }
        assertThat(wasThere && onlyNew && !Arrays.equals(held, OLD)).as(shown).isFalse();
        assertThat(told).as(shown).doesNotContain("upload_id").doesNotContain("\n");
        assertThat(server.requests.get()).as(shown).isLessThan(MOST_REQUESTS);
        return told.isEmpty();
    }
}
