package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TfRecordsTest {
    /** Three examples of {@code tfrecord.TFRecordWriter} 1.14.6: 25, 28 and 31 bytes. */
    private static final byte[] REAL = Base64.getDecoder().decode(
            "GQAAAAAAAACL8QgoChcKCgoBeRIFGgMKAQAKCQoBeBIECgIKAMaco70cAAAAAAAAAMjBlR0KGgoKCgF5EgUaAwoBAQoMCgF4EgcK"
                    + "BQoDYWJjqputqx8AAAAAAAAAUUtEGAodCgoKAXkSBRoDCgECCg8KAXgSCgoICgZhYmNhYmPS3sLr");

    @TempDir
    Path folder;

    private Path write(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private void assertMalformed(byte[] bytes, String message) throws IOException {
        Path path = write("bad.tfrecord", bytes);
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message).hasMessageContaining("bad.tfrecord").message().doesNotContain("\n");
    }

    @Test
    void recordsOfTheRealWriterAreFound() throws IOException {
        Path path = write("train.tfrecord-00000-of-00001", REAL);
        RecordSource source = RecordFiles.open(List.of(path, write("empty.tfrecord", new byte[0]), path));
        assertThat(source.records()).isEqualTo(6);
        assertThat(source.length(0)).isEqualTo(25);
        assertThat(source.length(2)).isEqualTo(31);
        assertThat(source.fileOffset(1)).isEqualTo(12 + 25 + 16);
        assertThat(source.fileOffset(3)).isEqualTo(12);
        assertThat(source.file(5)).isEqualTo(2);
        assertThat(source.maxLength()).isEqualTo(31);
        CRC32C crc = new CRC32C();
        crc.update(REAL, (int) source.fileOffset(1), 28);
        assertThat(source.crc32c(4)).isEqualTo(crc.getValue());
    }

    @Test
    void damagedLengthsAreRefused() throws IOException {
        for (int at : new int[]{0, 7, 8, 41, 52}) {
            byte[] bytes = REAL.clone();
            bytes[at] ^= 1;
            assertMalformed(bytes, "the checksum of its length is 0x");
        }
        assertMalformed(Arrays.copyOf(REAL, REAL.length - 1), "ends inside a record of 31 bytes");
        assertMalformed(Arrays.copyOf(REAL, 45), "ends inside the length of a record");
        ByteBuffer huge = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN).putLong(-1);
        huge.putInt(masked(huge.array(), 8));
        assertMalformed(huge.array(), "ends inside a record of 18446744073709551615 bytes");
    }

    private static int masked(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return Integer.rotateRight((int) crc.getValue(), 15) + 0xa282ead8;
    }

    @Test
    void compressedFilesAreRefusedWithTheRemedy() throws IOException {
        assertMalformed(Arrays.copyOf(new byte[]{0x1f, (byte) 0x8b, 8}, 99),
                "is compressed by gzip, allowed: a plain TFRecord file; unpack it once: gzip -dk bad.tfrecord");
        assertMalformed(Arrays.copyOf(new byte[]{0x78, (byte) 0x9c}, 99), "is compressed by zlib");
    }

    @Test
    void mutatedFilesFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            byte[] bytes = REAL.clone();
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            Path path =
                    write("m.tfrecord", Arrays.copyOf(bytes, bytes.length - random.nextInt(2) * random.nextInt(99)));
            try {
                assertThat(RecordFiles.open(List.of(path)).records()).isBetween(0L, 3L);
            } catch (RecordFormatException e) {
                assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
            }
        }
    }
}
