package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class RecordPartsTest {
    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path folder;

    /** Records of a byte that is the length of part a, then part a and part b. */
    private record TwoParts(Path path, long[] offsets) implements TestRecords.InOneFile {
        @Override
        public Path file() {
            return path;
        }

        @Override
        public long records() {
            return offsets.length - 1;
        }

        @Override
        public long maxLength() {
            return 6;
        }

        @Override
        public long fileOffset(long record) {
            return offsets[(int) record];
        }

        @Override
        public long length(long record) {
            return offsets[(int) record + 1] - offsets[(int) record];
        }

        @Override
        public List<String> parts() {
            return List.of("a", "b");
        }

        @Override
        public int headBytes() {
            return 4;
        }

        @Override
        public long partOffset(long record, String part, ByteBuffer head) {
            assertThat(head.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
            assertThat(head.remaining()).isEqualTo((int) Math.min(4, length(record)));
            return part.equals("a") ? 1 : part.equals("b") ? 1 + head.get(0) : -1;
        }

        @Override
        public long partLength(long record, String part, ByteBuffer head) {
            return part.equals("a") ? head.get(0) : length(record) - 1 - head.get(0);
        }

        @Override
        public Optional<String> key(long record) {
            return Optional.of("k" + record);
        }
    }

    private static String text(RecordBatch batch, int index, String part) {
        return batch.part(index, part)
                .map(range -> new String(range.segment().orElseThrow().toArray(ValueLayout.JAVA_BYTE),
                        StandardCharsets.UTF_8))
                .orElse("-");
    }

    @Test
    void headOfARecordTellsItsParts() throws IOException {
        Path path = Files.write(folder.resolve("f"), "\u0001xyz\u0000\u0003abcde".getBytes(StandardCharsets.UTF_8));
        RecordSource source = new TwoParts(path, new long[]{0, 4, 5, 11});
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), source, 3).target(MemoryKind.HOST, 0).open()) {
            RecordBatch batch = loader.next();
            assertThat(text(batch, 0, "a") + " " + text(batch, 0, "b")).isEqualTo("x yz");
            assertThat(text(batch, 1, "a") + text(batch, 1, "b")).isEmpty();
            assertThat(text(batch, 2, "a") + " " + text(batch, 2, "b")).isEqualTo("abc de");
            assertThat(text(batch, 2, "c")).isEqualTo("-");
            assertThat(batch.key(2)).hasValue("k2");
            assertThatThrownBy(() -> batch.key(3)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> batch.part(3, "a")).isInstanceOf(IndexOutOfBoundsException.class);
            batch.close();
            assertThatThrownBy(() -> batch.part(0, "a")).isInstanceOf(CuFileException.class);
        }
    }

    @Test
    void recordsWithoutPartsHaveNone() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[8]);
        RecordSource source = RecordFiles.fixed(List.of(path), 4);
        assertThat(source.parts()).isEmpty();
        assertThat(source.key(0)).isEmpty();
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), source, 2).target(MemoryKind.HOST, 0).open();
                RecordBatch batch = loader.next()) {
            assertThat(batch.part(0, "a")).isEmpty();
        }
    }

    /** A record with the checksum of "abc", and one without. */
    private record Checked(Path path) implements TestRecords.InOneFile {
        private static final long ABC = 0x364b3fb7L;

        @Override
        public Path file() {
            return path;
        }

        @Override
        public long records() {
            return 2;
        }

        @Override
        public long maxLength() {
            return 3;
        }

        @Override
        public long fileOffset(long record) {
            return 3 * record;
        }

        @Override
        public long length(long record) {
            return 3;
        }

        @Override
        public long crc32c(long record) {
            return record == 0 ? ABC : -1;
        }
    }

    private long read(String text, ErrorPolicy policy, boolean verify) throws IOException {
        RecordSource source = new Checked(Files.writeString(folder.resolve("f"), text));
        RecordLoader.Builder builder =
                RecordLoader.builder(gds.driver(), source, 2).target(MemoryKind.HOST, 0).onError(policy);
        try (RecordLoader loader = (verify ? builder.verify() : builder).open(); RecordBatch batch = loader.next()) {
            return batch.count();
        }
    }

    @Test
    void recordsAreComparedWithTheirChecksumsOnRequest() throws IOException {
        assertThat(read("abcxyz", ErrorPolicy.STOP, true)).isEqualTo(2);
        assertThat(read("abdxyz", ErrorPolicy.STOP, false)).isEqualTo(2);
        assertThat(read("abdxyz", ErrorPolicy.SKIP, true)).isEqualTo(1);
        assertThatThrownBy(() -> read("abdxyz", ErrorPolicy.STOP, true)).isInstanceOf(RecordException.class)
                .hasMessageContaining("record 0: its CRC-32C is 0x").hasMessageContaining("the file says 0x364b3fb7")
                .hasMessageContaining("offset=0");
    }
}
