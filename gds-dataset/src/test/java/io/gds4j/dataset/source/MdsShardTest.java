package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MdsShardTest {
    /** As {@code MDSWriter} writes it, for columns image (bytes), label (int) and text (str). */
    private static final String INDEX = """
            {"shards": [{"column_encodings": ["bytes", "int", "str"], "column_names": ["image", "label", "text"],
            "column_sizes": [null, 8, null], "compression": null, "format": "mds", "hashes": [],
            "raw_data": {"basename": "shard.00000.mds", "bytes": 59, "hashes": {}}, "samples": 2, "size_limit": 67108864,
            "version": 2, "zip_data": null}], "version": 2}""";

    @TempDir
    Path folder;

    /** Returns a shard of two samples, as MDSWriter writes it: ("abc", 7, "x") and ("", 8, "yz"). */
    private static byte[] shard() {
        ByteBuffer bytes = ByteBuffer.allocate(59).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(2).putInt(21).putInt(41).putInt(59).put("{ () }".getBytes(StandardCharsets.US_ASCII), 0, 5);
        bytes.putInt(3).putInt(1).put("abc".getBytes(StandardCharsets.US_ASCII)).putLong(7).put((byte) 'x');
        bytes.putInt(0).putInt(2).putLong(8).put((byte) 'y').put((byte) 'z');
        return bytes.array();
    }

    private Path write(String index, byte[] shard) throws IOException {
        Files.write(folder.resolve("shard.00000.mds"), shard);
        return Files.writeString(folder.resolve("index.json"), index);
    }

    private static ByteBuffer head(RecordSource source, long record) throws IOException {
        byte[] file = Files.readAllBytes(source.files().get(source.file(record)));
        int begin = (int) source.fileOffset(record);
        int length = (int) Math.min(source.headBytes(), source.length(record));
        return ByteBuffer.wrap(Arrays.copyOfRange(file, begin, begin + length)).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static String part(RecordSource source, long record, String name) throws IOException {
        byte[] file = Files.readAllBytes(source.files().get(source.file(record)));
        long offset = source.fileOffset(record) + source.partOffset(record, name, head(source, record));
        return new String(file, (int) offset, (int) source.partLength(record, name, head(source, record)),
                StandardCharsets.ISO_8859_1);
    }

    private void assertMalformed(String index, byte[] shard, String message) throws IOException {
        Path path = write(index, shard);
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message).message().doesNotContain("\n");
    }

    @Test
    void columnsAreParts() throws IOException {
        RecordSource source = RecordFiles.open(List.of(write(INDEX, shard())));
        assertThat(source.records()).isEqualTo(2);
        assertThat(source.parts()).containsExactly("image", "label", "text");
        assertThat(source.maxLength()).isEqualTo(20);
        assertThat(source.headBytes()).isEqualTo(8);
        assertThat(part(source, 0, "image") + part(source, 0, "text")).isEqualTo("abcx");
        assertThat(part(source, 1, "image") + part(source, 1, "text")).isEqualTo("yz");
        assertThat(part(source, 1, "label")).isEqualTo("\b\0\0\0\0\0\0\0");
        assertThat(source.partOffset(0, "other", head(source, 0))).isEqualTo(-1);
    }

    @Test
    void sampleThatEndsInsideItsColumnsIsRefused() throws IOException {
        byte[] shard = shard();
        shard[21] = 99;
        RecordSource source = RecordFiles.mds(write(INDEX, shard));
        assertThatThrownBy(() -> part(source, 0, "image")).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("a sample of 20 bytes ends inside its columns");
        assertThat(part(source, 1, "text")).isEqualTo("yz");
    }

    @Test
    void shardsUnlikeTheirIndexAreRefused() throws IOException {
        assertMalformed(INDEX, Arrays.copyOf(shard(), 58), "the file has 58 bytes, its index says 59");
        byte[] shard = shard();
        shard[0] = 3;
        assertMalformed(INDEX, shard, "3 samples, allowed in this file: 0 to 12; its index says 2");
        shard = shard();
        shard[8] = 20;
        assertMalformed(INDEX, shard, "a sample begins or ends at 20, allowed: 21 to 59");
        shard[8] = 60;
        assertMalformed(INDEX, shard, "a sample begins or ends at 60, allowed: 21 to 59");
    }

    @Test
    void compressedShardsAreRefusedWithTheRemedy() throws IOException {
        Path index = write(
                INDEX.replace("\"compression\": null", "\"compression\": \"zstd:3\"").replace("\"zip_data\": null",
                        "\"zip_data\": {\"basename\": \"shard.00000.mds.zstd\", \"bytes\": 9, \"hashes\": {}}"),
                shard());
        assertThat(RecordFiles.mds(index).records()).as("the plain shard is there").isEqualTo(2);
        Files.delete(folder.resolve("shard.00000.mds"));
        assertThatThrownBy(() -> RecordFiles.mds(index)).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(
                        "is compressed by 'zstd:3', allowed: a plain shard; unpack it once by zstd -dc into 'shard.00000.mds'")
                .hasMessageContaining("shard.00000.mds.zstd");
    }

    @Test
    void otherIndexesAreRefused() throws IOException {
        assertMalformed("{", shard(), "the index is not valid JSON");
        assertMalformed("[]", shard(), "the index is no JSON object");
        assertMalformed("{}", shard(), "the index has no shards");
        assertMalformed("{\"shards\": [7]}", shard(), "shard 0 is not of format mds and version 2");
        assertMalformed(INDEX.replace("\"mds\"", "\"jsonl\""), shard(), "shard 0 is not of format mds and version 2");
        assertMalformed(INDEX.replace("shard.00000.mds", "../shard.mds"), shard(), "a name that leads elsewhere");
        assertMalformed(INDEX.replace("shard.00000.mds", "\\ud800"), shard(), "a name that leads elsewhere");
        assertMalformed(INDEX.replace("[null, 8, null]", "[null, 8]"), shard(), "3 columns and 2 sizes of columns");
        assertMalformed(INDEX.replace("[null, 8, null]", "[null, 0, null]"), shard(), "a column of '0' bytes");
        for (String width : List.of("true", "1e3", "18446744073709551617")) {
            assertMalformed(INDEX.replace("[null, 8, null]", "[" + width + ", 8, null]"), shard(), "has a column of '");
        }
        assertMalformed(INDEX.replace("\"samples\": 2", "\"samples\": null"), shard(), "has no samples, as Long");
        assertMalformed(INDEX.replace("\"label\"", "\"text\""), shard(), "a column without a name of its own");
        assertMalformed(INDEX.replace("67108864", "[" + "1,".repeat(1 << 20) + "1]"), shard(),
                "a shard is described by more than 1048576 bytes");
    }

    @Test
    void shardsAreNoLinksToAnywhere(@TempDir Path other) throws IOException {
        Path index = write(INDEX, shard());
        Path shard = folder.resolve("shard.00000.mds");
        Files.move(shard, other.resolve("s"));
        Files.createSymbolicLink(shard, other.resolve("s"));
        assertThatThrownBy(() -> RecordFiles.mds(index)).hasMessageContaining("link not followed");
        assertThat(RecordFiles.mds(index, FileVisitOption.FOLLOW_LINKS).records()).isEqualTo(2);
    }

    @Test
    void mutatedFilesFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            byte[] index = INDEX.getBytes(StandardCharsets.UTF_8);
            byte[] shard = shard();
            byte[] changed = random.nextBoolean() ? index : shard;
            changed[random.nextInt(changed.length)] = (byte) random.nextInt();
            Path path = write("", shard);
            Files.write(path, index);
            try {
                RecordSource source = RecordFiles.open(List.of(path));
                part(source, 0, source.parts().getLast());
            } catch (RecordFormatException e) {
                assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
            }
        }
    }
}
