package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link GuardedMemory} and {@link GuardedFile} find stray bytes. */
class GuardZonesTest {
    private final MemoryAllocator allocator = new ReferenceBackend().allocator();

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(ints = {-GuardedMemory.GUARD, -1, 0, 500, 999, 1000, 1000 + GuardedMemory.GUARD - 1})
    void everyStrayByteInOrAroundTheRangeIsFound(int offset) {
        try (GuardedMemory memory = GuardedMemory.allocate(allocator, MemoryKind.HOST, 1000, 0, 42)) {
            memory.verify();
            MemorySegment range = memory.range().owner().orElseThrow().range().segment().orElseThrow();
            int at = GuardedMemory.GUARD + offset;
            range.set(ValueLayout.JAVA_BYTE, at, (byte) (range.get(ValueLayout.JAVA_BYTE, at) + 1));
            assertThatExceptionOfType(AssertionError.class)
                    .isThrownBy(memory::verify)
                    .withMessageContaining("1 bytes differ")
                    .withMessageContaining("seed 42");
        }
    }

    @Test
    void expectedBytesMustArrive() {
        try (GuardedMemory memory = GuardedMemory.allocate(allocator, MemoryKind.HOST, 1000, 7, 42)) {
            byte[] bytes = RandomBytes.of(3, 10);
            memory.expect(990, bytes);
            assertThatExceptionOfType(AssertionError.class)
                    .isThrownBy(memory::verify)
                    .withMessageContaining("byte 990 of the range");
            memory.put(990, bytes);
            memory.verify();
            assertThat(memory.byteAt(999)).isEqualTo(bytes[9]);
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> memory.expect(991, bytes));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4095, 9_999})
    void everyStrayByteInTheFileIsFound(int offset) throws IOException {
        GuardedFile file = GuardedFile.create(directory.resolve("file"), 10_000, 1);
        file.verify();
        byte was = file.expected(offset, 1)[0];
        try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{(byte) (was + 1)}), offset);
        }
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(file::verify)
                .withMessageContaining("byte " + offset + ":");
        assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> file.verifyAround(offset, 1, 0));
        file.accept(offset, 1);
        file.verify();
    }

    @Test
    void wrongSizeIsFound() throws IOException {
        GuardedFile file = GuardedFile.create(directory.resolve("file"), 10_000, 1);
        try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE)) {
            channel.truncate(9_999);
        }
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(file::verify)
                .withMessageContaining("size is 9999, expected 10000");
        file.expectSize(9_999);
        file.verify();
        file.expectSize(12_000);
        assertThat(file.expected(11_990, 100)).isEqualTo(new byte[10]);
    }

    @Test
    void expectedWritesGrowTheRecordWithZerosBetween() {
        GuardedFile file = GuardedFile.create(directory.resolve("file"), 10, 1);
        file.write(20, new byte[]{1, 2});
        file.verify();
        assertThat(file.expected(9, 100)).hasSize(13).startsWith(file.expected(9, 1)).endsWith(0, 1, 2);
        file.expectWrite(100, new byte[0]);
        assertThat(file.size()).isEqualTo(22);
    }
}
