package io.gds4j.compat;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A handle as a channel, beside the JDK's channel of the same content. */
class HandleChannelTest {
    private static final int SIZE = 300_000;
    private static final byte[] CONTENT = RandomBytes.of(5, SIZE);

    @TempDir
    private Path folder;

    private Rig rig;
    private CuFileDriver driver;
    private Path path;

    @BeforeEach
    void open() throws IOException {
        rig = Rig.onGpuWithWorkers();
        driver = rig.driver();
        path = Files.write(folder.resolve("data"), CONTENT);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static ByteBuffer buffer(SplittableRandom random, int most) {
        int capacity = random.nextInt(most);
        ByteBuffer buffer = random.nextBoolean() ? ByteBuffer.allocate(capacity) : ByteBuffer.allocateDirect(capacity);
        byte[] content = new byte[capacity];
        random.nextBytes(content);
        buffer.put(content).clear();
        int limit = random.nextInt(capacity + 1);
        return buffer.limit(limit).position(random.nextInt(limit + 1));
    }

    private static ByteBuffer copy(ByteBuffer buffer) {
        return ByteBuffer.allocate(buffer.capacity()).put(buffer.duplicate().clear())
                .limit(buffer.limit()).position(buffer.position());
    }

    @Test
    void randomCallsDoWhatTheChannelOfTheJdkDoes() throws IOException {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Path other = Files.write(folder.resolve("other"), CONTENT);
        try (CuFileHandle handle = driver.openFile(path, READ, WRITE);
                SeekableByteChannel ours = handle.asChannel();
                FileChannel theirs = FileChannel.open(other, READ, WRITE)) {
            for (int i = 0; i < 400; i++) {
                String step = "step %s, seed %s".formatted(i, seed);
                int most = random.nextInt(20) == 0 ? 2_500_000 : 9000;
                ByteBuffer first = buffer(random, most);
                ByteBuffer second = copy(first);
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> assertThat(ours.read(first)).as(step).isEqualTo(theirs.read(second));
                    case 3, 4 -> assertThat(ours.write(first)).as(step).isEqualTo(theirs.write(second));
                    case 5 -> {
                        long size = random.nextLong(theirs.size() + 2000);
                        ours.truncate(size);
                        theirs.truncate(size);
                    }
                    default -> {
                        long position = random.nextLong(theirs.size() + 5000);
                        ours.position(position);
                        theirs.position(position);
                    }
                }
                assertThat(first).as(step).isEqualTo(second);
                assertThat(first.position()).as(step).isEqualTo(second.position());
                assertThat(first.duplicate().clear()).as(step).isEqualTo(second.duplicate().clear());
                assertThat(ours.position()).as(step).isEqualTo(theirs.position());
                assertThat(ours.size()).as(step).isEqualTo(theirs.size());
            }
        }
        assertThat(Files.mismatch(path, other)).as("seed %s", seed).isEqualTo(-1);
    }

    @Test
    void streamsOverTheChannelReadTheWholeFile() throws IOException {
        try (CuFileHandle handle = driver.openFile(path)) {
            try (InputStream in = Channels.newInputStream(handle.asChannel())) {
                assertThat(in.readAllBytes()).isEqualTo(CONTENT);
                assertThat(in.read()).isEqualTo(-1);
            }
            assertThat(handle.isOpen()).isTrue();
            assertThat(handle.asChannel().position()).isZero();
        }
    }

    @Test
    void positionPastTheEndReadsNothing() throws IOException {
        try (CuFileHandle handle = driver.openFile(path)) {
            SeekableByteChannel channel = handle.asChannel();
            for (long position : new long[]{SIZE, SIZE + 1L, 1L << 62, Long.MAX_VALUE - 10, Long.MAX_VALUE}) {
                assertThat(channel.position(position).read(ByteBuffer.allocate(20))).isEqualTo(-1);
                assertThat(channel.read(ByteBuffer.allocateDirect(0))).isZero();
                assertThat(channel.position()).isEqualTo(position);
            }
            assertThatThrownBy(() -> channel.position(-1)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void channelDoesWhatItsHandleMay() throws IOException {
        ByteBuffer some = ByteBuffer.allocate(10);
        try (CuFileHandle reads = driver.openFile(path); CuFileHandle writes = driver.openFile(path, WRITE)) {
            assertThatThrownBy(() -> reads.asChannel().write(some)).isInstanceOf(NonWritableChannelException.class);
            assertThatThrownBy(() -> reads.asChannel().truncate(SIZE)).isInstanceOf(NonWritableChannelException.class);
            assertThatThrownBy(() -> writes.asChannel().read(some)).isInstanceOf(NonReadableChannelException.class);
            assertThatThrownBy(() -> reads.asChannel().read(some.asReadOnlyBuffer()))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> writes.asChannel().truncate(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> writes.asChannel().position(Long.MAX_VALUE).write(some))
                    .isInstanceOf(IOException.class).hasCauseInstanceOf(CuFileException.class);
        }
        assertThat(some.position()).isZero();
        assertThat(path).hasBinaryContent(CONTENT);
    }

    @Test
    void closedHandleClosesItsChannels() throws IOException {
        CuFileHandle handle = driver.openFile(path);
        SeekableByteChannel closed = handle.asChannel();
        SeekableByteChannel open = handle.asChannel();
        closed.close();
        assertThat(closed.isOpen()).isFalse();
        assertThat(open.read(ByteBuffer.allocate(7))).isEqualTo(7);
        handle.close();

        for (SeekableByteChannel channel : new SeekableByteChannel[]{closed, open}) {
            assertThat(channel.isOpen()).isFalse();
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(1))).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> channel.write(ByteBuffer.allocate(1))).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(channel::position).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> channel.position(1)).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(channel::size).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> channel.truncate(1)).isInstanceOf(ClosedChannelException.class);
            channel.close();
        }
    }

    /** Reads to the end of the file, and returns the bytes that this thread got. */
    private static long drain(SeekableByteChannel channel) {
        ByteBuffer some = ByteBuffer.allocate(4093);
        long all = 0;
        try {
            for (int bytes = channel.read(some); bytes >= 0; bytes = channel.read(some.clear())) {
                all += bytes;
            }
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void threadsShareAChannelUntilItsHandleIsClosed() throws IOException, InterruptedException {
        CuFileHandle handle = driver.openFile(path);
        SeekableByteChannel channel = handle.asChannel();
        CompletableFuture<Long> other = CompletableFuture.supplyAsync(() -> drain(channel));
        assertThat(drain(channel) + other.join()).isEqualTo(SIZE);

        CountDownLatch rounds = new CountDownLatch(20);
        CompletableFuture<?>[] threads = new CompletableFuture<?>[2];
        Arrays.setAll(threads, i -> CompletableFuture.runAsync(() -> {
            try {
                while (true) {
                    channel.position(0);
                    drain(channel);
                    rounds.countDown();
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }));
        rounds.await();
        handle.close();
        for (CompletableFuture<?> thread : threads) {
            // a handle that is closed during the call is the cause of this one
            assertThatThrownBy(thread::join).cause().hasCauseInstanceOf(ClosedChannelException.class);
        }
    }

    @Test
    void interruptLeavesTheChannelOpen() throws IOException {
        try (CuFileHandle handle = driver.openFile(path)) {
            SeekableByteChannel channel = handle.asChannel();
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(SIZE)))
                    .isInstanceOf(InterruptedIOException.class);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(channel.position()).isZero();
            assertThat(channel.read(ByteBuffer.allocate(SIZE))).isEqualTo(SIZE);
        }
    }
}
