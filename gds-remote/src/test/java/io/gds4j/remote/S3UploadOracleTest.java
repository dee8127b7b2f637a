package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.FaultyProxy.Fault;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentSkipListMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uploads whose requests fail at random, beside what the server really holds: what is done is there, what may be there or stay is named, and
 * nothing of others is touched. {@code -Dgds4j.property.seconds} and {@code -Dgds4j.property.seed} set length and seed.
 */
class S3UploadOracleTest {
    private static final byte[] SMALL = RangeServer.random(1000);
    private static final byte[] LARGE = RangeServer.random(S3Server.PART + 7);
    private static final byte[] OLD = {1, 2, 3};
    private static final String FOREIGN = "foreign";
    private static final int UPLOADS = 60;
    private static final Fault[] FAULTS = Fault.values();

    @TempDir
    Path folder;

    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final S3Server server = new S3Server();
    private int faults;

    private synchronized Fault next(String kind) {
        Fault fault = faults == 0 || random.nextInt(3) == 0 ? Fault.NONE : FAULTS[random.nextInt(FAULTS.length)];
        faults -= fault == Fault.NONE ? 0 : 1;
        return fault;
    }

    @Test
    void uploadsTellWhatTheServerHolds() throws IOException {
        Path small = Files.write(folder.resolve("small"), SMALL);
        Path large = Files.write(folder.resolve("large"), LARGE);
        long end = System.nanoTime() + Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 0)).toNanos();
        try (server; FaultyProxy proxy = new FaultyProxy(server.endpoint().getPort(), this::next)) {
            S3Options options = server.options().withEndpoint(proxy.uri()).withHttp(
                    HttpOptions.DEFAULTS.withPatience(Duration.ofSeconds(10), 3, Duration.ofMillis(1)));
            for (int i = 0; i < UPLOADS || System.nanoTime() < end; i++) {
                boolean isLarge = i % 4 == 0;
                upload(i, isLarge ? large : small, isLarge ? LARGE : SMALL, proxy, options);
            }
        }
    }

    private void upload(int number, Path file, byte[] content, FaultyProxy proxy, S3Options options)
            throws IOException {
        String key = "k" + number;
        boolean onlyNew = random.nextBoolean();
        boolean wasThere = random.nextInt(4) == 0;
        server.uploads.clear();
        server.uploads.put(FOREIGN, new ConcurrentSkipListMap<>());
        server.objects.clear();
        if (wasThere) {
            server.objects.put(key, OLD);
        }
        proxy.happened.clear();
        synchronized (this) {
            faults = random.nextInt(5);
        }
        String[] told = {""};
        Path target = S3Files.path(URI.create("s3://" + S3Server.BUCKET + "/" + key), options);
        List<String> log = S3FaultTest.logged(() -> {
            try {
                if (onlyNew) {
                    S3Files.uploadNew(file, target);
                } else {
                    S3Files.upload(file, target);
                }
            } catch (CuFileException e) {
                told[0] = e.getMessage();
            }
        });
        String all = told[0] + log;
        String shown = "-Dgds4j.property.seed=%d, upload %d, only new %s, was there %s, %s: %s".formatted(
                seed, number, onlyNew, wasThere, proxy.happened, all);
        byte[] held = server.objects.get(key);
        boolean isThere = Arrays.equals(held, content);
        if (told[0].isEmpty()) {
            assertThat(isThere).as("%s", shown).isTrue();
        } else if (isThere) {
            assertThat(all).as("%s", shown).contains("may be there");
        }
        assertThat(isThere || (wasThere ? Arrays.equals(held, OLD) : held == null)).as("%s", shown).isTrue();
        assertThat(isThere && wasThere && onlyNew).as("%s", shown).isFalse();
        assertThat(server.uploads).as("%s", shown).containsKey(FOREIGN);
        for (String id : server.uploads.keySet()) {
            if (!id.equals(FOREIGN)) {
                assertThat(all).as("%s", shown).containsAnyOf(id, "an upload without parts may stay");
            }
        }
    }
}
