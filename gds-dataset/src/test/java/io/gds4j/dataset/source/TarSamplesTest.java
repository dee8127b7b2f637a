package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TarSamplesTest {
    private static final ByteBuffer NO_HEAD = ByteBuffer.allocate(0);
    /** Written by {@code webdataset.TarWriter} 1.0.2: train/0000 to 0002 with cls, jpg and seg.PNG, and a key of 140 bytes. */
    private static final String REAL =
            "H4sIAAAAAAACA+3ZMU7DMBSAYc+cwidIbNdNJgQbTKhXsEoUikqIEkfK4di4GAmVQE2RGKBOwP/XoR2qdrD+51fVN25XpWqQbPetOIvx062178"
                    + "+D6fNAH7/WymaZkEoE0LXeNcPXd9+8rxT/khKImf/s/7EuZ+pf0/9c6t3Wd00hmQPR998WZbK5u5nj/p/sAlprtab/oOevF7b/5Zx/CJoRyPw/9L+s"
                    + "/Y/+g+5/zIHo+59x/9On+x/9B9GTAP2P/Ztl7f+5ov8QDAnQ/6H/Re3/9B92/2cORN//jPu/Odn/h5FA/yH2f34ARC1Jk/R64/rbwt0Xzfnu/y+6/2"
                    + "jerMzxf0FaGW2E7EP2H+n567WVtfMPl68vy3kkvvcXtBnC1a8YD+wn+/9qcv/nmbLc/yE4uX+uSlm5p4IYAAAAAAAAAAAAAAAAAAD4I94AEKMBsQBQ"
                    + "AAA=";

    @TempDir
    Path folder;

    private RecordSource open(TestTar tar) throws IOException {
        return RecordFiles.open(List.of(write("a.tar", tar.end())));
    }

    private Path write(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private void assertMalformed(byte[] bytes, String message) throws IOException {
        Path path = write("bad.tar", bytes);
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message).hasMessageContaining("bad.tar").message().doesNotContain("\n");
    }

    /** Returns a part of a record as text; - if the record lacks it. */
    private String part(RecordSource source, long record, String name) throws IOException {
        long offset = source.partOffset(record, name, NO_HEAD);
        if (offset < 0) {
            return "-";
        }
        byte[] file = Files.readAllBytes(source.files().get(source.file(record)));
        int begin = (int) (source.fileOffset(record) + offset);
        int length = (int) source.partLength(record, name, NO_HEAD);
        assertThat(offset + length).isLessThanOrEqualTo(source.length(record));
        return new String(file, begin, length, StandardCharsets.UTF_8);
    }

    private static List<String> keys(RecordSource source) {
        return IntStream.range(0, (int) source.records()).mapToObj(i -> source.key(i).orElseThrow()).toList();
    }

    @Test
    void neighboursWithOneKeyAreASample() throws IOException {
        RecordSource source = open(new TestTar()
                .file("d.e/a.JPG", "one").file("d.e/a.seg.png", "").file("d.e/b.jpg", "two")
                .file("d.e/a.jpg", "three"));
        assertThat(keys(source)).containsExactly("d.e/a", "d.e/b", "d.e/a");
        assertThat(source.parts()).containsExactly("jpg", "seg.png");
        assertThat(part(source, 0, "jpg") + part(source, 1, "jpg") + part(source, 2, "jpg")).isEqualTo("onetwothree");
        assertThat(part(source, 0, "seg.png")).isEmpty();
        assertThat(part(source, 1, "seg.png")).isEqualTo("-");
        assertThat(part(source, 1, "nothing")).isEqualTo("-");
        assertThat(source.fileOffset(0)).isEqualTo(512);
        assertThat(source.length(0)).as("to the end of the last part").isEqualTo(1024);
        assertThat(source.length(1)).isEqualTo(3);
        assertThat(source.maxLength()).isEqualTo(1024);
    }

    @Test
    void shardOfTheRealWriterIsRead() throws IOException {
        byte[] tar;
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(REAL)))) {
            tar = in.readAllBytes();
        }
        RecordSource source = RecordFiles.webDataset(List.of(write("a.tar", tar)));
        assertThat(keys(source)).containsExactly("train/0000", "train/0001", "train/0002", "ü".repeat(70));
        assertThat(part(source, 2, "jpg") + part(source, 2, "cls") + part(source, 2, "seg.png"))
                .isEqualTo("picture 22xx");
        assertThat(part(source, 3, "txt")).isEqualTo("a long name");
    }

    @Test
    void selectedPartsAreTheRecord() throws IOException {
        Path path = write("a.tar", new TestTar().file("a.cls", "1").file("a.jpg", "one").file("b.cls", "2")
                .file("c.JPG", "two").end());
        RecordSource source = RecordFiles.webDataset(List.of(path), "JPG");
        assertThat(source.parts()).containsExactly("jpg");
        assertThat(source.records()).isEqualTo(3);
        assertThat(source.length(0)).isEqualTo(3);
        assertThat(source.partOffset(0, "jpg", NO_HEAD)).isZero();
        assertThat(source.length(1)).as("a sample without it").isZero();
        assertThat(part(source, 2, "jpg")).isEqualTo("two");
        assertThatThrownBy(() -> RecordFiles.webDataset(List.of(path), "png"))
                .hasMessageContaining("no sample has a part png");
    }

    @Test
    void longNamesOfGnuAndPaxAreKeys() throws IOException {
        String name = "x".repeat(300);
        RecordSource source = open(new TestTar()
                .member("././@LongLink", 'L', name + ".txt\0").file("short", "gnu")
                .pax("path", "ü" + name + ".txt").file("short", "pax")
                .pax("size", "5").header("big.txt", '0', 0).member("", (char) 0, "").file("end.txt", ""));
        assertThat(keys(source).subList(0, 2)).containsExactly(name, "ü" + name);
        assertThat(part(source, 1, "txt")).isEqualTo("pax");
        assertThat(source.length(2)).as("pax has the size").isEqualTo(5);
    }

    @Test
    void largeSizesAreBinary() throws IOException {
        RecordSource source = open(new TestTar()
                .header("a.txt", '0', new byte[]{(byte) 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0})
                .member("data", '0', ""));
        assertThat(source.length(0)).isEqualTo(512);
    }

    /** Old writers counted bytes of 128 or more as negative. */
    @Test
    void checksumCountsBytesWithOrWithoutTheirSigns() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 100; i++) {
            byte[] tar = new TestTar().file("a.txt", "x").end();
            for (int at = 265; at < 329; at++) { // owner and group
                tar[at] = (byte) (i == 0 ? 0xff : random.nextInt(256));
            }
            int unsigned = 0;
            int signed = 0;
            for (int at = 0; at < 512; at++) {
                byte value = at >= 148 && at < 156 ? (byte) ' ' : tar[at];
                unsigned += Byte.toUnsignedInt(value);
                signed += value;
            }
            for (int sum : new int[]{unsigned, signed, unsigned + 1, signed - 1, unsigned - 256}) {
                if (sum < 0) {
                    continue; // no octal digits
                }
                byte[] text = "%06o\0 ".formatted(sum).getBytes(StandardCharsets.ISO_8859_1);
                System.arraycopy(text, 0, tar, 148, 8);
                if (sum == unsigned || sum == signed) {
                    assertThat(RecordFiles.open(List.of(write("a.tar", tar))).records())
                            .as("-Dgds4j.property.seed=%s", seed).isEqualTo(1);
                } else {
                    assertMalformed(tar, "its checksum is %s, that of its bytes %s".formatted(sum, unsigned));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"'00000000005\\0', 5", "'   5 \\0', 5", "'\\t5\\r\\n', 5", "'5', 5", "' ', 0", "'5\\0x', 5"})
    void numbersHaveSpacesAroundTheirDigits(String text, long size) throws IOException {
        byte[] field = Arrays.copyOf(text.translateEscapes().getBytes(StandardCharsets.ISO_8859_1), 12);
        RecordSource source = open(new TestTar().header("a.txt", '0', field).member("data", '0', ""));
        assertThat(source.length(0)).isEqualTo(size);
    }

    @Test
    void linksFoldersAndMetadataBelongToNoSample() throws IOException {
        RecordSource source = open(new TestTar()
                .header("d/", '5', 0).file("__index__", "x").file("__x__/a.txt", "x").file("noextension", "x")
                .header("l.txt", '2', 77).file("a.txt", "1").member("a.lnk", '1', "").member("?.bin", 'Z', "skipped")
                .header("old/", (char) 0, 9).file("a.cls", "2").file("__a.txt", "3"));
        assertThat(keys(source)).containsExactly("a", "__a");
        assertThat(source.parts()).containsExactly("txt", "cls");
        assertThat(part(source, 0, "cls")).isEqualTo("2");
    }

    @ParameterizedTest
    @CsvSource(value = {
            "a.txt, a, txt", "a.b.c, a, b.c", "d.x/a.txt, d.x/a, txt", "a., a, ''", "d/.h, d/, h",
            "a.b/c/.h, a.b/c/, h",
            "/.h, /, h", ".h, -, -", "a.b/.h, -, -", "a.b/c, -, -", "d/, -, -"})
    void namesAreSplitAsWebDatasetDoes(String name, String key, String extension) throws IOException {
        RecordSource source = open(new TestTar().file(name, "x"));
        assertThat(keys(source)).isEqualTo(key.equals("-") ? List.of() : List.of(key));
        assertThat(source.parts()).isEqualTo(key.equals("-") ? List.of() : List.of(extension));
    }

    @Test
    void shardsAreOneDataSet() throws IOException {
        Path one = write("a-0.tar", new TestTar().file("a.jpg", "1").end());
        Path two = write("a-1.tar", new TestTar().file("a.cls", "2").file("b.jpg", "3").bytes());
        RecordSource source = RecordFiles.open(List.of(one, two));
        assertThat(keys(source)).as("samples end with their shard").containsExactly("a", "a", "b");
        assertThat(source.parts()).containsExactly("jpg", "cls");
        assertThat(part(source, 1, "cls") + part(source, 1, "jpg") + part(source, 2, "jpg")).isEqualTo("2-3");
    }

    @Test
    void compressedTarsAreRefusedWithTheRemedy() throws IOException {
        assertMalformed(Base64.getDecoder().decode(REAL),
                "is compressed by gzip, allowed: a plain tar; unpack it once: gzip -dk bad.tar");
        assertMalformed(new byte[]{0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 0}, "unpack it once: zstd -d bad.tar");
        assertMalformed("BZh9".getBytes(StandardCharsets.US_ASCII), "is compressed by bzip2");
    }

    @Test
    void brokenTarsAreRefused() throws IOException {
        byte[] broken = new TestTar().file("a.txt", "x").end();
        broken[0] = 'b';
        assertMalformed(broken, "is no header of a tar member: its checksum is");
        assertMalformed(new byte[0], "the file has 0 bytes and ends inside the header of a tar member");
        assertMalformed(new TestTar().member("a.txt", 'S', "").end(), "is a sparse file");
        assertMalformed(new TestTar().pax("GNU.sparse.major", "1").file("a.txt", "").end(), "is a sparse file");
        assertMalformed(new TestTar().file("a.txt", "").file("a.TXT", "").end(), "sample 'a' has part 'txt' twice");
        assertMalformed(new TestTar().file("a.__key__", "").end(), "has part '__key__' twice");
        assertMalformed(new TestTar().header("a.txt", '0', 600).bytes(), "ends inside a member of 600 bytes");
        assertMalformed(new TestTar().header("a.txt", 'x', 1 << 21).end(), "an extended header of 2097152 bytes");
        assertMalformed(new TestTar().pax("path", "b.txt").end(), "no member follows its extended header");
        assertMalformed(new TestTar().member("", 'x', "99 path=a\n").end(), "the pax header has a malformed line");
        assertMalformed(new TestTar().member("", 'g', "10 path=a\n").end(), "a global pax header has path or size");
        assertMalformed(new TestTar().pax("size", "-1").file("a.txt", "").end(), "malformed size");
        byte[] large = new byte[12];
        Arrays.fill(large, (byte) 0xff);
        assertMalformed(new TestTar().header("a.txt", '0', large).end(), "is no octal number");
        large[0] = (byte) 0x80;
        assertMalformed(new TestTar().header("a.txt", '0', large).end(), "a number of 2^63 or more");
        TestTar many = new TestTar();
        IntStream.range(0, 1025).forEach(i -> many.file("img.%04d.jpg".formatted(i), ""));
        assertMalformed(many.end(), "has more than 1024 extensions");
    }

    @Test
    void mutatedTarsFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        List<byte[]> tars = Stream.<Consumer<TestTar>>of(
                tar -> tar.file("a.txt", "one").file("a.jpg", "two"),
                tar -> tar.member("", 'L', "long.txt").file("b", "three").pax("path", "c.txt").file("d", "4"))
                .map(write -> {
                    TestTar tar = new TestTar();
                    write.accept(tar);
                    return tar.end();
                }).toList();
        for (int i = 0; i < 300; i++) {
            byte[] bytes = tars.get(random.nextInt(tars.size())).clone();
            for (int change = random.nextInt(3); change >= 0; change--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            Path path = write("m.tar", Arrays.copyOf(bytes, bytes.length - random.nextInt(2) * random.nextInt(600)));
            try {
                RecordSource source = RecordFiles.open(List.of(path));
                assertThat(keys(source)).hasSize((int) source.records());
            } catch (RecordFormatException e) {
                assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
            }
        }
    }
}
