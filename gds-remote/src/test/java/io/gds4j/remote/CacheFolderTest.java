package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which files of the folder stay, and which are believed. */
class CacheFolderTest {
    private static final String OBJECT = "0123456789abcdef".repeat(4) + "-";
    private static final long LIMIT = 18 << 20;

    /** Of a file that is a third of the limit with its checksums, one of each 64 KiB begun. */
    private static final int BLOCK = (int) (LIMIT / 3) - 8 * 96;
    private static final int SMALL = 1000;

    @TempDir
    private Path folder;
    private CacheFolder cache;

    @BeforeEach
    void open() {
        cache = new CacheFolder(new RemoteCache(folder, LIMIT));
    }

    private static MemorySegment content(int number, int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) (number + i % 251);
        }
        return MemorySegment.ofArray(bytes);
    }

    private Path store(int number, int size, int secondsAgo) throws IOException {
        assertThat(cache.store(OBJECT + number, content(number, size))).isTrue();
        return setUsed(folder.resolve(OBJECT + number), secondsAgo);
    }

    private static Path setUsed(Path file, int secondsAgo) throws IOException {
        return Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(secondsAgo)));
    }

    private List<Integer> stored() {
        return IntStream.range(0, 10).filter(number -> Files.exists(folder.resolve(OBJECT + number))).boxed().toList();
    }

    private boolean read(int number, int size) {
        MemorySegment into = MemorySegment.ofArray(new byte[size]);
        boolean found = cache.read(OBJECT + number, size, 0, into);
        assertThat(!found || into.mismatch(content(number, size)) == -1).isTrue();
        return found;
    }

    @Test
    void blocksUsedLongestAgoLeaveUntilTheRestFits() throws IOException {
        Path block = store(0, BLOCK, 30);
        assertThat(Files.size(block)).isEqualTo(LIMIT / 3);
        store(1, BLOCK, 50);
        store(2, BLOCK, 10);
        assertThat(stored()).as("as many as the limit allows").containsExactly(0, 1, 2);
        store(3, BLOCK, 70);
        assertThat(stored()).containsExactly(0, 2, 3);
        store(4, BLOCK, 5);
        assertThat(stored()).containsExactly(0, 2, 4);
        assertThat(read(0, BLOCK) && read(2, BLOCK) && read(4, BLOCK)).isTrue();
        assertThat(read(1, BLOCK) || read(3, BLOCK)).isFalse();
    }

    /** @param left blocks beside a file of the size of one that another process may still write, or has left behind */
    @ParameterizedTest
    @CsvSource({"60, 2", "7200, 3"})
    void unfinishedBlocksTakeRoomWhileTheyMayBecomeBlocks(int secondsAgo, int left) throws IOException {
        store(0, BLOCK, 30);
        store(1, BLOCK, 20);
        Path part = setUsed(Files.write(folder.resolve(OBJECT + "17.part"), new byte[(int) (LIMIT / 3)]), secondsAgo);
        store(2, BLOCK, 10);
        assertThat(stored()).hasSize(left).contains(2);
        assertThat(Files.exists(part)).isEqualTo(left == 2);
    }

    /** A sixteenth of the limit is stored between two looks at the folder. */
    @Test
    void theFolderIsReadAgainOnceTheRoomIsUsed() throws IOException {
        int sixteenth = (int) (LIMIT / 16);
        store(0, 64, 0); // the first one looks
        Path left = setUsed(Files.write(folder.resolve(OBJECT + "17.part"), new byte[1]), 7200);
        store(1, sixteenth - SMALL, 0);
        store(2, SMALL - 1, 0);
        assertThat(left).exists();
        store(3, 1, 0);
        assertThat(left).doesNotExist();
    }

    @Test
    void aBlockThatCannotBeStoredLeavesNothingBehind() throws IOException {
        Files.createDirectories(folder.resolve(OBJECT + 1).resolve("inner"));
        assertThat(cache.store(OBJECT + 1, content(1, SMALL))).isFalse();
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(folder.resolve(OBJECT + 1));
        }
        assertThat(read(1, SMALL)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"30, false", "120, true"})
    void aReadIsNotedOnceAMinute(int secondsAgo, boolean noted) throws IOException {
        Path block = store(1, SMALL, secondsAgo);
        assertThat(read(1, SMALL)).isTrue();
        Duration ago = Duration.between(Files.getLastModifiedTime(block).toInstant(), Instant.now());
        assertThat(ago.toSeconds() < 25).isEqualTo(noted);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 70_000, 199_999, 200_000, 200_031})
    void aBlockWithAWrongByteIsReadFromNowhereAndLeaves(int at) throws IOException {
        int size = 200_000;
        Path block = store(1, size, 0);
        assertThat(read(1, size)).isTrue();
        try (RandomAccessFile file = new RandomAccessFile(block.toFile(), "rw")) {
            file.seek(at);
            int known = file.read();
            file.seek(at);
            file.write(known ^ 1);
        }
        assertThat(read(1, size)).isFalse();
        assertThat(block).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1})
    void aBlockOfAnotherSizeLeaves(int more) throws IOException {
        Path block = store(1, SMALL, 0);
        try (RandomAccessFile file = new RandomAccessFile(block.toFile(), "rw")) {
            file.setLength(file.length() + more);
        }
        assertThat(read(1, SMALL)).isFalse();
        assertThat(block).doesNotExist();
    }

    /** A channel of an object takes the numbers and buffers that channels of files take. */
    @Test
    void channelsRefuseWhatIsNoPlaceOrNoRoom() throws IOException {
        try (SourceChannel channel = new SourceChannel(new RangeSource() {
            @Override
            public long size() {
                return 10;
            }

            @Override
            public String identity() {
                return "ten bytes";
            }

            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation) {
                long count = Math.clamp(10 - offset, 0, target.byteSize());
                MemorySegment.copy(content((int) offset, 10), 0, target, 0, count);
                return count;
            }
        })) {
            ByteBuffer buffer = ByteBuffer.allocate(4);
            assertThat(channel.position()).isZero();
            assertThat(channel.read(buffer)).isEqualTo(4);
            assertThat(channel.position()).isEqualTo(4);
            assertThat(channel.position(0).position()).isZero();
            assertThat(channel.position(8).read(buffer.clear())).isEqualTo(2);
            assertThat(channel.position()).isEqualTo(10);
            assertThat(channel.read(buffer)).isEqualTo(-1);
            assertThatThrownBy(() -> channel.position(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> channel.read(buffer, -1)).hasMessage("position is negative: -1");
            assertThatThrownBy(() -> channel.read(buffer.asReadOnlyBuffer(), 0)).hasMessage("the buffer is read-only");
        }
    }

    /** Bytes of a server, which connections fill in: the memory must be theirs to write. */
    private record Bytes(byte[] bytes, List<Long> sizes) implements RangeSource {
        private static final Thread OTHER = Thread.ofPlatform().unstarted(() -> {
        });

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public String identity() {
            return "bytes";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            assertThat(target.isAccessibleBy(OTHER)).isTrue();
            assertThat(sizes).hasSizeLessThan(100);
            sizes.add(target.byteSize());
            long count = Math.clamp(bytes.length - offset, 0, target.byteSize());
            MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, count);
            return count;
        }
    }

    @ParameterizedTest(name = "{0} bytes from {1} on")
    @CsvSource({"1, 0", "4194304, 3", "4194305, 3", "5000000, 4000000", "100, 5000000"})
    void memoryOfOneThreadIsFilledByWayOfACopy(int size, int offset) throws IOException {
        Bytes source = new Bytes(RangeServer.random(5_000_000), new ArrayList<>());
        byte[] expected = Arrays.copyOfRange(source.bytes, offset, Math.min(offset + size, source.bytes.length));
        try (SourceChannel channel = new SourceChannel(source); Arena own = Arena.ofConfined()) {
            ByteBuffer confined = own.allocate(size).asByteBuffer();
            assertThat(channel.read(confined, offset)).isEqualTo(expected.length == 0 ? -1 : expected.length);
            byte[] found = new byte[expected.length];
            confined.flip().get(found);
            assertThat(Arrays.equals(found, expected)).isTrue();
            source.sizes.clear();
            ByteBuffer heap = ByteBuffer.allocate(size);
            assertThat(channel.read(heap, offset)).isEqualTo(expected.length == 0 ? -1 : expected.length);
            assertThat(Arrays.equals(heap.array(), 0, expected.length, expected, 0, expected.length)).isTrue();
            assertThat(source.sizes).as("no copy").containsExactly((long) size);
        }
    }

    @Test
    void channelsFillBuffersInTurn() throws IOException {
        Bytes source = new Bytes(RangeServer.random(10), new ArrayList<>());
        try (SourceChannel channel = new SourceChannel(source)) {
            assertThat(channel.size()).isEqualTo(10);
            ByteBuffer[] four = Stream.generate(() -> ByteBuffer.allocate(4)).limit(4).toArray(ByteBuffer[]::new);
            assertThat(channel.read(four, 1, 2)).isEqualTo(8);
            assertThat(four[0].position()).isZero();
            assertThat(four[1].array()).isEqualTo(Arrays.copyOf(source.bytes, 4));
            assertThat(four[2].array()).isEqualTo(Arrays.copyOfRange(source.bytes, 4, 8));
            assertThat(channel.read(four, 3, 0)).isZero();
            assertThat(channel.read(new ByteBuffer[]{four[3], four[0]})).as("up to the end").isEqualTo(2);
            assertThat(channel.read(four, 0, 4)).isEqualTo(-1);
            assertThat(channel.read(new ByteBuffer[]{four[1]})).as("no room").isZero();

            ByteArrayOutputStream out = new ByteArrayOutputStream();
            WritableByteChannel target = Channels.newChannel(out);
            assertThat(channel.transferTo(2, 5, target)).isEqualTo(5);
            assertThat(channel.transferTo(7, 100, target)).isEqualTo(3);
            assertThat(out.toByteArray()).isEqualTo(Arrays.copyOfRange(source.bytes, 2, 10));
            assertThat(channel.transferTo(10, 5, target)).isZero();
            assertThat(channel.transferTo(11, 5, target)).isZero();
            assertThat(channel.transferTo(0, 0, target)).isZero();
        }
        assertThat(out(source, 3 << 20)).as("a part at a time").isEqualTo(10);
        Bytes large = new Bytes(RangeServer.random((1 << 20) + 5), new ArrayList<>());
        assertThat(out(large, Integer.MAX_VALUE)).isEqualTo(1 << 20);
    }

    private static long out(RangeSource source, long count) throws IOException {
        try (SourceChannel channel = new SourceChannel(source)) {
            return channel.transferTo(0, count, Channels.newChannel(OutputStream.nullOutputStream()));
        }
    }

    @Test
    void interruptedReaderStaysInterrupted() throws IOException {
        try (SourceChannel channel = new SourceChannel(new Bytes(new byte[10], new ArrayList<>()))) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(4)))
                    .isInstanceOf(ClosedByInterruptException.class).hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(channel.position()).isZero();
        }
    }

    @Test
    void channelOfACachedFileClosesIt() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        try (FileChannel opened = FileChannel.open(file)) {
            new SourceChannel(FileContent.of(file, opened)).close();
            assertThat(opened.isOpen()).isFalse();
        }
    }
}
