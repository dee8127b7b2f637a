package io.gds4j.loader.internal.zip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.ZipBytes;
import io.gds4j.loader.format.numpy.NpzFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The rules for zip files, on archives of arrays. */
class ZipArchiveTest {
    private static final int END = 22;
    private static final int END64 = 56;
    private static final int LOCATOR = 20;

    @TempDir
    Path folder;

    private static byte[] array() {
        byte[] file = new byte[128 + 8];
        byte[] head = "\u0093NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
                .getBytes(StandardCharsets.ISO_8859_1);
        Arrays.fill(file, 0, 128, (byte) ' ');
        System.arraycopy(head, 0, file, 0, head.length);
        file[127] = '\n';
        return file;
    }

    private static Arguments members(String what, String rule, String message, Consumer<ZipBytes> members) {
        ZipBytes zip = ZipBytes.asTorch();
        members.accept(zip);
        return arguments(what, zip.finish(), rule, message);
    }

    private static Arguments changed(String what, String rule, String message, UnaryOperator<byte[]> change) {
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("a.npy", array());
        return arguments(what, change.apply(zip.finish()), rule, message);
    }

    private static ByteBuffer view(byte[] file) {
        return ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Changes a number of the ZIP64 end record; {@code at} counts from its begin. */
    private static UnaryOperator<byte[]> end64(int at, long value) {
        return file -> {
            view(file).putLong(file.length - END - LOCATOR - END64 + at, value);
            return file;
        };
    }

    static Stream<Arguments> brokenArchives() {
        return Stream.of(
                members("two members of one name", "ZipDuplicateMember", "member 'a.npy' occurs twice", zip -> {
                    zip.add("a.npy", array());
                    zip.add("a.npy", array());
                }),
                members("two entries for one local header", "ZipOverlap", "within member 'a.npy'", zip -> {
                    zip.add("a.npy", array());
                    zip.add("a.npy", array()).headerOffset = 0;
                }),
                members("a member within another one", "ZipOverlap", "member 'b.npy' begins at", zip -> {
                    ZipBytes.Member outer = zip.add("a.npy", array());
                    zip.add("b.npy", array());
                    outer.stored += 200;
                    outer.bytes += 200;
                }),
                members("a name with NUL", "ZipMemberName", "NUL", zip -> zip.add("a\0.npy", array())),
                members("an empty name", "ZipMemberName", "is empty", zip -> zip.add("", array())),
                members("a local header elsewhere", "ZipStructure", "is missing",
                        zip -> zip.add("a.npy", array()).headerOffset = 1),
                members("a local header behind the directory", "ZipStructure", "but the central directory begins",
                        zip -> zip.add("a.npy", array()).headerOffset = 5000),
                members("a local header at 2^63", "ZipStructure", "at 9223372036854775808",
                        zip -> zip.add("a.npy", array()).headerOffset = Long.MIN_VALUE),
                members("a member of 2^60 bytes", "ZipStructure", "reaches into the central directory", zip -> {
                    ZipBytes.Member member = zip.add("a.npy", array());
                    member.stored = 1L << 60;
                    member.bytes = 1L << 60;
                }),
                members("sizes that differ", "ZipStructure", "is not compressed, but has 137 bytes stored as 136",
                        zip -> zip.add("a.npy", array()).bytes++),
                members("another method in the directory", "ZipStructure", "contradicts the central directory",
                        zip -> zip.add("a.npy", array()).method = 8),
                members("an extra field past its entry", "ZipStructure", "reaches past its entry",
                        zip -> zip.add("a.npy", array()).extra = new byte[]{9, 9, 9, 0}),
                members("two ZIP64 fields", "ZipStructure", "two ZIP64 fields",
                        zip -> zip.add("a.npy", array()).extra = new byte[]{1, 0, 0, 0, 1, 0, 0, 0}),
                members("a ZIP64 field that is missing", "ZipStructure", "ZIP64 field of member 'a.npy'",
                        zip -> zip.add("a.npy", array()).stored = 0xFFFFFFFFL),
                changed("2^60 members", "ZipStructure", "1152921504606846976 ", file -> {
                    view(file).putShort(file.length - 14, (short) -1).putShort(file.length - 12, (short) -1);
                    end64(24, 1L << 60).apply(file);
                    return end64(32, 1L << 60).apply(file);
                }),
                changed("more members than entries", "ZipStructure", "2 members are announced",
                        file -> count(file, 2)),
                changed("fewer members than entries", "ZipStructure", "follow its 0 members", file -> count(file, 0)),
                changed("a directory outside the file", "ZipStructure", "outside the file", file -> {
                    view(file).putInt(file.length - 6, -1);
                    return end64(48, 1L << 60).apply(file);
                }),
                changed("a directory of 2^64-1 bytes", "ZipStructure", "18446744073709551615 bytes", file -> {
                    view(file).putInt(file.length - 10, -1);
                    return end64(40, -1).apply(file);
                }),
                changed("records that disagree", "ZipStructure", "in the ZIP64 end record and",
                        end64(48, 7)),
                changed("a ZIP64 record outside the file", "ZipStructure", "lies outside the file", file -> {
                    view(file).putLong(file.length - END - 12, 1L << 60);
                    return file;
                }),
                changed("a ZIP64 record of another size", "ZipStructure", "claims 45 bytes", end64(4, 45)),
                changed("bytes before the archive", "ZipStructure", "", file -> {
                    byte[] longer = new byte[file.length + 4];
                    System.arraycopy(file, 0, longer, 4, file.length);
                    System.arraycopy(file, 0, longer, 0, 4);
                    return longer;
                }),
                changed("a second disk", "ZipStructure", "several parts", file -> {
                    view(file).putShort(file.length - 18, (short) 1);
                    return file;
                }),
                changed("bytes after the end record", "ZipStructure", "the file is cut, or is no zip file",
                        file -> Arrays.copyOf(file, file.length + 1)));
    }

    private static byte[] count(byte[] file, int count) {
        view(file).putShort(file.length - 14, (short) count).putShort(file.length - 12, (short) count);
        end64(24, count).apply(file);
        return end64(32, count).apply(file);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("brokenArchives")
    void brokenArchiveIsRefusedByRule(String what, byte[] file, String rule, String message) throws IOException {
        Path path = Files.write(folder.resolve("x.npz"), file);
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path, new NpzFormat()));
        assertThat(e).isNotNull();
        assertThat(e.rule().variant()).as(e.getMessage()).isEqualTo(rule);
        assertThat(e.getMessage()).doesNotContain("\n").contains(message);
        assertThat(e.fileOffset()).isPresent();
    }

    @Test
    void archivesOfBothKindsAreRead() throws IOException {
        for (ZipBytes zip : new ZipBytes[]{ZipBytes.asTorch(), ZipBytes.plain()}) {
            zip.add("a.npy", array());
            zip.add("é.npy", array()).extra = new byte[]{7, 0, 1, 0, 0};
            Path path = Files.write(folder.resolve("x.npz"), zip.finish());
            assertThat(Checkpoint.open(path).tensors()).containsOnlyKeys("a", "é");
        }
    }

    @Test
    void namesAreNoPaths() throws IOException {
        ZipBytes zip = ZipBytes.plain();
        for (String name : new String[]{"/model/w.npy", "../w.npy", "a/../b.npy", "x\\y.npy"}) {
            zip.add(name, array());
        }
        Path path = Files.write(folder.resolve("x.npz"), zip.finish());
        assertThat(Checkpoint.open(path).tensors()).containsOnlyKeys("/model/w", "../w", "a/../b", "x\\y");
    }

    @Test
    void commentAfterTheEndRecordIsAllowed() throws IOException {
        ZipBytes zip = ZipBytes.plain();
        zip.add("a.npy", array());
        byte[] file = zip.finish();
        byte[] commented = Arrays.copyOf(file, file.length + 3);
        commented[file.length - 2] = 3;
        assertThat(Checkpoint.open(Files.write(folder.resolve("x.npz"), commented)).tensors()).containsOnlyKeys("a");
    }
}
