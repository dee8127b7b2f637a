package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordsCommandTest {
    private static final int HEADER = 16;
    private static final int RECORD = 40;
    private static final int RECORDS = 1001;

    @TempDir
    private Path folder;

    private Path first = Path.of("");
    private Path second = Path.of("");
    private BigInteger sum = BigInteger.ZERO;

    @BeforeEach
    void makeFiles() throws IOException {
        Random random = new Random(5);
        first = write("first", 700, random);
        second = write("second", RECORDS - 700, random);
    }

    private Path write(String name, int records, Random random) throws IOException {
        byte[] bytes = new byte[HEADER + records * RECORD];
        random.nextBytes(bytes);
        ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        long total = sum.longValue();
        for (int i = 0; i < records; i++) {
            total += words.getLong(HEADER + i * RECORD);
        }
        sum = new BigInteger(Long.toUnsignedString(total));
        return Files.write(folder.resolve(name), bytes);
    }

    private static String digest(LongStream records) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            records.forEach(record -> digest.update(
                    ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, record).array()));
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private GdsRun records(String... options) {
        String[] words = {"records", first.toString(), second.toString(), "--record", "40", "--header", "16", "-t",
                "host"};
        String[] all = Arrays.copyOf(words, words.length + options.length);
        System.arraycopy(options, 0, all, words.length, options.length);
        return gds(all);
    }

    @Test
    void compressedShardsNeedAFolderAndTheLibrary() throws IOException {
        Path index = Files.writeString(folder.resolve("index.json"), """
                {"shards": [{"column_names": ["a"], "column_sizes": [1], "compression": "zstd:3", "format": "mds",
                "raw_data": {"basename": "a.mds", "bytes": 20}, "samples": 1, "version": 2,
                "zip_data": {"basename": "a.mds.zstd", "bytes": 9}}], "version": 2}""");
        Files.write(folder.resolve("a.mds.zstd"), new byte[9]);
        GdsRun without = gds("records", index.toString());
        assertThat(without.status()).isEqualTo(3);
        assertThat(without.err()).contains("--unpack of gds records").hasLineCount(1);
        GdsRun run = gds("records", index.toString(), "--unpack", folder.resolve("unpacked").toString());
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err()).contains("needs the artifact com.github.luben:zstd-jni").hasLineCount(1);
        assertThat(records("--unpack", "x").status()).isEqualTo(2);
    }

    @Test
    void sequentialRecordsHaveTheirSumAndOrder() {
        JsonNode json = records("--batch", "64", "--skip-bad", "--json").json();
        assertThat(json.get("skipped").asLong()).isZero();
        assertThat(json.get("records").asLong()).isEqualTo(RECORDS);
        assertThat(json.get("bytes").asLong()).isEqualTo(RECORDS * RECORD);
        assertThat(json.get("batches").asLong()).isEqualTo(16);
        assertThat(json.get("recordSum").bigIntegerValue()).isEqualTo(sum);
        assertThat(json.get("orderDigest").asText()).isEqualTo(digest(LongStream.range(0, RECORDS)));
        assertThat(json.get("files").asInt()).isEqualTo(2);
    }

    @Test
    void digestIsOfTheBytesInTheirOrder() throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        for (Path file : new Path[]{first, second}) {
            digest.update(Files.readAllBytes(file), HEADER, (int) Files.size(file) - HEADER);
        }
        String expected = HexFormat.of().formatHex(digest.digest());
        assertThat(records("--batch", "64", "--digest", "--json").json().get("digest").asText()).isEqualTo(expected);
        assertThat(records("--digest", "--shuffle").out()).contains("digest").doesNotContain(expected);
        assertThat(records("--json").json().has("digest")).isFalse();
    }

    /** Returns a checksum as TFRecord files have it. */
    private static int masked(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return Integer.rotateRight((int) crc.getValue(), 15) + 0xa282ead8;
    }

    @Test
    void verificationFindsADamagedRecord() throws IOException {
        byte[] bytes = new byte[100];
        byte[] length = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, bytes.length).array();
        ByteBuffer file = ByteBuffer.allocate(3 * (bytes.length + 16)).order(ByteOrder.LITTLE_ENDIAN);
        while (file.hasRemaining()) {
            file.put(length).putInt(masked(length)).put(bytes).putInt(masked(bytes));
        }
        file.put(bytes.length + 16 + 50, (byte) 1);
        String name = Files.write(folder.resolve("a.tfrecord"), file.array()).toString();
        assertThat(gds("records", name, "-t", "host", "--json").json().get("skipped").asInt()).isZero();
        assertThat(gds("records", name, "-t", "host", "--verify", "--skip-bad", "--json").json().get("skipped").asInt())
                .isEqualTo(1);
        GdsRun run = gds("records", name, "-t", "host", "--verify");
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.err()).contains("record 1: its CRC-32C").hasLineCount(1);
    }

    @Test
    void verificationFindsADamagedShard() throws IOException {
        Path index = Files.writeString(folder.resolve("index.json"), """
                {"shards": [{"column_names": ["a"], "column_sizes": [1], "column_encodings": ["uint8"], "format": "mds",
                "raw_data": {"basename": "a.mds", "bytes": 13, "hashes": {"sha1": "00"}}, "samples": 1, "version": 2,
                "compression": null, "zip_data": null, "hashes": ["sha1"], "size_limit": null}], "version": 2}""");
        Files.write(folder.resolve("a.mds"), new byte[]{1, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 7});
        assertThat(gds("records", index.toString(), "-t", "host").status()).isZero();
        GdsRun run = gds("records", index.toString(), "-t", "host", "--verify");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err()).contains("a.mds: is damaged: its sha1").hasLineCount(1);
    }

    @Test
    void listTellsWhatAndWhereRecordsAre() {
        JsonNode json = records("--list", "--batch", "701", "--json").json();
        assertThat(json.get("recordsPerEpoch").asLong()).isEqualTo(RECORDS);
        assertThat(json.get("maxRecordBytes").asLong()).isEqualTo(RECORD);
        assertThat(json.get("parts")).isEmpty();
        assertThat(json.get("recordList")).hasSize(701);
        JsonNode last = json.get("recordList").get(700);
        assertThat(last.get("file").asText()).isEqualTo(second.toString());
        assertThat(last.get("offset").asLong()).isEqualTo(HEADER);
        assertThat(last.get("bytes").asLong()).isEqualTo(RECORD);
        assertThat(records("--list", "--batch", "2").out()).contains("1001 records in 2 files", "40 B", "56")
                .hasLineCount(6);
    }

    @Test
    void shufflingKeepsTheSumAndDependsOnTheSeed() {
        JsonNode one = records("--shuffle", "--seed", "1", "--readers", "1", "--json").json();
        JsonNode again = records("--shuffle", "--seed", "1", "--readers", "12", "--json").json();
        JsonNode two = records("--shuffle", "--seed", "2", "--json").json();
        assertThat(one.get("recordSum").bigIntegerValue()).isEqualTo(sum);
        assertThat(two.get("recordSum").bigIntegerValue()).isEqualTo(sum);
        assertThat(again.get("orderDigest")).isEqualTo(one.get("orderDigest"));
        assertThat(two.get("orderDigest")).isNotEqualTo(one.get("orderDigest"));
    }

    @Test
    void ranksShareTheRecords() {
        BigInteger total = BigInteger.ZERO;
        long least = RECORDS;
        long most = 0;
        for (int rank = 0; rank < 3; rank++) {
            JsonNode json = records("--shuffle", "--rank", "" + rank, "--world", "3", "--json").json();
            total = total.add(json.get("recordSum").bigIntegerValue());
            least = Math.min(least, json.get("records").asLong());
            most = Math.max(most, json.get("records").asLong());
        }
        assertThat(total.mod(BigInteger.TWO.pow(64))).isEqualTo(sum);
        assertThat(most - least).isLessThan(2);
    }

    @Test
    void shuffledBlocksKeepTheSum() {
        JsonNode one = records("--shuffle", "--block", "10", "--json").json();
        JsonNode mixed = records("--shuffle", "--block", "10", "--window", "4", "--json").json();
        assertThat(one.get("recordSum").bigIntegerValue()).isEqualTo(sum);
        assertThat(mixed.get("recordSum").bigIntegerValue()).isEqualTo(sum);
        assertThat(mixed.get("orderDigest")).isNotEqualTo(one.get("orderDigest"));
    }

    @Test
    void resumesBehindTheRecordsOfAnEarlierRun() throws IOException {
        // one batch: a rate needs one
        JsonNode one = records("--batch", "64", "-T", "1e-9", "--json").json();
        Path state = Files.writeString(folder.resolve("state"), one.get("state").asText());
        JsonNode json = records("--batch", "64", "--resume", state.toString(), "--json").json();
        assertThat(json.get("orderDigest").asText()).isEqualTo(digest(LongStream.range(64, RECORDS)));

        Files.writeString(state, one.get("state").asText().replace("64", "63"));
        assertThat(records("--resume", state.toString()).status()).isEqualTo(3);
        Files.writeString(state, "no state");
        GdsRun broken = records("--resume", state.toString());
        assertThat(broken.status()).isEqualTo(3);
        assertThat(broken.err()).contains("it is no JSON").hasLineCount(1);
    }

    @Test
    void otherRanksResumeTheResultsOfAllRanks() throws IOException {
        BigInteger total = BigInteger.ZERO;
        StringBuilder results = new StringBuilder();
        for (int rank = 0; rank < 2; rank++) {
            GdsRun run = records("--batch", "64", "--shuffle", "--rank", "" + rank, "--world", "2", "-T", "1e-9",
                    "--json");
            total = total.add(run.json().get("recordSum").bigIntegerValue());
            Path result = Files.writeString(folder.resolve("result" + rank), run.out());
            results.append(rank == 0 ? "" : ",").append(result);
        }
        for (int rank = 0; rank < 3; rank++) {
            total = total.add(records("--batch", "10", "--shuffle", "--rank", "" + rank, "--world", "3",
                    "--resume", results.toString(), "--json").json().get("recordSum").bigIntegerValue());
        }
        assertThat(total.mod(BigInteger.TWO.pow(64))).isEqualTo(sum);
    }

    @Test
    void remainderFillsOrLeavesOutTheLastBatch() {
        assertThat(records("--batch", "10", "--remainder", "drop", "--json").json().get("records").asLong())
                .isEqualTo(1000);
        assertThat(records("--batch", "10", "--remainder", "pad", "--json").json().get("records").asLong())
                .isEqualTo(1010);
    }

    @Test
    void timeEndsTheRunAndWarmUpCountsNot() {
        JsonNode json = records("--epochs", "1000000000", "--warm-up", "0.02", "-T", "0.02", "--json").json();
        assertThat(json.get("seconds").asDouble()).isGreaterThan(0.02);
        assertThat(json.get("bytesPerSecond").asLong()).isPositive();
    }

    /** A slow machine may need longer for a batch than the run may take. */
    @Test
    void batchBehindTheWarmUpIsReadHoweverShortTheTime() {
        JsonNode json = records("--epochs", "1000000000", "--warm-up", "0.02", "-T", "0.000000001", "--json").json();
        assertThat(json.get("batches").asLong()).isGreaterThan(1);
        assertThat(json.get("bytesPerSecond").asLong()).isPositive();
    }

    @Test
    void epochsRepeatTheRecords() {
        JsonNode json = records("--epochs", "3", "--batch", "500", "--json").json();
        assertThat(json.get("records").asLong()).isEqualTo(3 * RECORDS);
        assertThat(json.get("batches").asLong()).isEqualTo(9);
        assertThat(json.get("recordSum").bigIntegerValue())
                .isEqualTo(sum.multiply(BigInteger.valueOf(3)).mod(BigInteger.TWO.pow(64)));
    }

    @Test
    void shortRecordsCountAsIfZerosFollowed() throws IOException {
        Path path = Files.write(folder.resolve("bytes"), new byte[]{1, 2, (byte) 255});
        JsonNode json = gds("records", path.toString(), "--record", "1", "-t", "host", "--json").json();
        assertThat(json.get("recordSum").asLong()).isEqualTo(258);
    }

    @Test
    void textShowsSpeedAndSum() {
        GdsRun run = records();
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains("1001 records", "4 batches", "record sum", sum.toString(), "records/s");
    }

    @Test
    void namesTellFormats() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(8 + 2 * 16).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(2).putInt(4).putLong(5).putLong(0).putLong(6);
        Path path = Files.write(folder.resolve("v.fbin"), bytes.array());
        JsonNode json = gds("records", path.toString(), "-t", "host", "--json").json();
        assertThat(json.get("recordSum").asLong()).isEqualTo(11);
    }

    @Test
    void brokenInputIsStatusThreeInOneLine() throws IOException {
        assertThat(gds("records", folder.resolve("no").toString(), "--record", "8", "-t", "host").status())
                .isEqualTo(3);
        Path path = Files.write(folder.resolve("odd"), new byte[9]);
        GdsRun run = gds("records", path.toString(), "--record", "8", "-t", "host");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).contains("1 bytes follow the last record", "odd");
        assertThat(gds("records", path.toString(), "-t", "host").status()).isEqualTo(3);
        assertThat(gds("records", path.toString(), "--column", "x").errorLine()).contains("is no Arrow file");
    }

    @Test
    void wrongUsageIsStatusTwo() {
        assertThat(records("--batch", "0").errorLine()).contains("--batch is 0, allowed: 1 to 16777216");
        assertThat(records("--rank", "2", "--world", "2").errorLine()).contains("--rank is 2, allowed: 0 to 1");
        assertThat(records("--seed", "1").errorLine()).contains("--seed is allowed with --shuffle only");
        assertThat(records("--memory", "4096").errorLine()).contains("--memory 4096 is less than two batches");
        assertThat(records("--block", "4").errorLine()).contains("--block is allowed with --shuffle only");
        assertThat(records("--warm-up", "-1").status()).isEqualTo(2);
        assertThat(records("--remainder", "half").errorLine()).contains("'half' is not one of keep, drop and pad");
        assertThat(records("--epochs", "0").status()).isEqualTo(2);
        assertThat(records("--column", "x").errorLine()).contains("--column is not allowed with --record");
        assertThat(gds("records").status()).isEqualTo(2);
    }
}
