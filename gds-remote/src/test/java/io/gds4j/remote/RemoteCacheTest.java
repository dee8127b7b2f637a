package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Objects through a folder of blocks. */
class RemoteCacheTest {
    private static final int SIZE = 2 * RemoteCache.BLOCK + 700_001;
    private static final byte[] BYTES = RangeServer.random(SIZE);
    private static final long ROOMY = 1L << 30;

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object.bin", BYTES);

    @TempDir
    private Path folder;

    @AfterEach
    void stop() {
        server.close();
    }

    private RangeSource open(RemoteCache cache) throws IOException {
        return cache.over(HttpFiles.path(uri, HttpOptions.DEFAULTS)).openSource();
    }

    private static byte[] read(RangeSource source, long offset, int size) throws IOException, InterruptedException {
        byte[] into = new byte[size];
        long count = source.read(offset, MemorySegment.ofArray(into), Cancellation.NEVER);
        return Arrays.copyOf(into, (int) count);
    }

    /** Returns how many requests it takes to open the object and to read all of it. */
    private int requestsToReadAll(RemoteCache cache) throws IOException, InterruptedException {
        int before = server.requests();
        assertThat(read(open(cache), 0, SIZE)).isEqualTo(BYTES);
        return server.requests() - before;
    }

    private List<Path> blocks() {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void secondReaderAsksForTheVersionOnly() throws Exception {
        assertThat(requestsToReadAll(RemoteCache.open(folder, ROOMY))).isGreaterThan(3);
        assertThat(requestsToReadAll(RemoteCache.open(folder, ROOMY))).isEqualTo(1);
        assertThat(blocks()).hasSize(3);
    }

    @Test
    void changedObjectIsReadAnew() throws Exception {
        RemoteCache cache = RemoteCache.open(folder, ROOMY);
        requestsToReadAll(cache);
        byte[] changed = BYTES.clone();
        changed[5_000_000]++;
        server.put("/object.bin", changed);
        server.etag = "\"v2\"";

        assertThat(read(open(cache), 0, SIZE)).isEqualTo(changed);
    }

    @Test
    void objectWithoutAStrongTagIsNotKept() throws Exception {
        server.etag = "W/\"v1\"";

        requestsToReadAll(RemoteCache.open(folder, ROOMY));

        assertThat(blocks()).isEmpty();
    }

    @Test
    void damagedBlockIsReadFromTheServerAgain() throws Exception {
        RemoteCache cache = RemoteCache.open(folder, ROOMY);
        requestsToReadAll(cache);
        for (Path block : blocks()) {
            try (FileChannel channel = FileChannel.open(block, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.wrap(new byte[]{1, 2, 3, 4}), 70_000);
            }
        }

        assertThat(requestsToReadAll(cache)).isGreaterThan(3);
        assertThat(requestsToReadAll(cache)).isEqualTo(1);
    }

    @Test
    void shortBlockIsReadFromTheServerAgain() throws Exception {
        RemoteCache cache = RemoteCache.open(folder, ROOMY);
        requestsToReadAll(cache);
        for (Path block : blocks()) {
            Files.write(block, new byte[17]);
        }

        assertThat(requestsToReadAll(cache)).isGreaterThan(3);
    }

    @Test
    void folderKeepsToItsLimit() throws Exception {
        long limit = 2L * RemoteCache.BLOCK;
        RemoteCache cache = RemoteCache.open(folder, limit);

        requestsToReadAll(cache);
        requestsToReadAll(cache);

        assertThat(blocks().stream().mapToLong(path -> path.toFile().length()).sum()).isPositive()
                .isLessThanOrEqualTo(limit);
    }

    @Test
    void folderThatDisappearsIsNoFailure() throws Exception {
        RemoteCache cache = RemoteCache.open(folder.resolve("inner"), ROOMY);
        RangeSource source = open(cache);
        Files.delete(folder.resolve("inner"));
        Files.createFile(folder.resolve("inner"));

        assertThat(read(source, 0, SIZE)).isEqualTo(BYTES);
    }

    @Test
    void anyRangesAreThoseOfTheObject() throws Exception {
        long seed = System.nanoTime();
        System.out.println("RemoteCacheTest seed " + seed);
        Random random = new Random(seed);
        RemoteCache cache = RemoteCache.open(folder, 2L * RemoteCache.BLOCK + 100);
        for (int i = 0; i < 25; i++) {
            int offset = random.nextInt(SIZE + 10);
            int size = random.nextBoolean() ? random.nextInt(100_000) : random.nextInt(SIZE);
            int end = Math.min(SIZE, offset + size);
            assertThat(read(open(cache), offset, size)).as("seed %d", seed)
                    .isEqualTo(offset >= SIZE ? new byte[0] : Arrays.copyOfRange(BYTES, offset, end));
        }
    }

    @Test
    void handleReadsThroughTheCache() throws Exception {
        RemoteCache cache = RemoteCache.open(folder, ROOMY);
        requestsToReadAll(cache);
        int before = server.requests();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults());
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE, 0);
                CuFileHandle file = driver.openSource(open(cache))) {
            file.readFully(memory.range(), 0);
            assertThat(memory.range().segment().orElseThrow().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(BYTES);
        }
        assertThat(server.requests() - before).isEqualTo(1);
    }

    @Test
    void limitBelowTwoBlocksIsRefused() {
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(() -> RemoteCache.open(folder, RemoteCache.BLOCK))
                .withMessageContaining("allowed: 8388608 or more");
    }

    @Test
    void onlyRemotePathsAreCached() {
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(() -> RemoteCache.open(folder, ROOMY).over(folder))
                .withMessageContaining("not the path of a remote object");
    }
}
