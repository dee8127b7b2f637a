package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArrowFileTest {
    /** A file of pyarrow 26.0: column x of 5 lists of 3 float32, 1.0 to 15.0, in batches of 3 and 2 rows. */
    private static final byte[] FILE = unpacked(
            "H4sIAAAAAAACA81TLY/CQBB9/bilNCtWNKQCgUSCJ7nWk0AwZzEIBAkCgeSnIJHIk/cT+AlI/kXvdTqEXiEhh2KStzOz25l5L7vNZ7PJ"
                    + "1xAoaAcADqXFsDD4QMSI5oXMwSziGurKbfUn1jJzCeNu7ayvfsteEXcN40BmJMwNWtLV6UwvcLV6qF9uFitIvZH6quONb6LfWnSUsZWu"
                    + "CEKkdBmuFjO3wr7UNFatAW5Wj5/ZqBb7D2rbdxW7z4pORuyIPfFDnEuKOdkQPWJAZMSUmBPr/D960yd6/Rf1pg29fuPc3FU81lLIW6m4"
                    + "WKoxosBVGsh2qncW6oxv7XZUf73Pg/d3P21Mf5e3eikvV/6xX/E1HrRqAwAA");
    /** The same as a stream. */
    private static final byte[] STREAM = unpacked(
            "H4sIAAAAAAACA51SsQ3CMBC8xMGEyIWLCKWgoKRkACSSnoIRaCgokCgoKDMKJWMwAiOwibk4j7CSSAheOv+/7XvfSXbOuRsAiyYyGGiM"
                    + "kLJiRAl7sEu5JrJyW/KDXHY2Zz0LzhaSL5yVclezVv6NnL3G2E+18makbMCH5MN5f4Tna89vJwJO9OZy12Aqio2fCpWgYCrxjoy98eob"
                    + "TxvxqvCJsP4Wq6COB7iTHqNet3JKoiauxJ14NhIrqiHmxJIoiS2xI07VL36LL37jP/0WHb9x51z3GMNenP8rwAsTkr5CcAIAAA==");
    /** The same, compressed. */
    private static final byte[] ZSTD = unpacked(
            "H4sIAAAAAAACA81TrU4DQRD+7oft0axYceIEIRWIVnH4Ju09AOFSg61BIEgQCGQfBdkXIEG2DtlHANeXaODbuSk9tiEpCYLJfjszuzu/"
                    + "ma0mk6vrC+CDNAfg4KkLC4MjZJRIUUod1DLuqe48Vr6iLTWXUz5p3fWVP9JXxlNDOZEYOXWDjnh1GjNKXMseym8fbu4g9kbsG49Nvgvy"
                    + "XN9aFJqxFa9IUvFVY0cWp4yVfr2ZEmdEoXntyMfraDwmhsPpsiXHe36B40AfKu8/n296w3df3GzEbcxFzIgnYkG8EajYMKJHlMSYqIkp"
                    + "cV/9oi/lgX2J/6gvg6AvcXBvAr1o96VYevHHmrfzAJ1fy+qNVOOamllb3fRUZsrHflG7V+XbOVlF38/LIK//8gfWfhbk734CDx5mHsID"
                    + "AAA=");
    /** The same between columns s of texts, d with a dictionary, st of structures, n with a null, id of 2 bytes, and bool. */
    private static final byte[] MANY = unpacked(
            "H4sIAAAAAAACA+1XP2/TUBA/O44TihEeCrJEJTIhxrBXwtkYkIi6kDENLaQoUKR2yJgPwMDYsWPUqQMDY0YGPgQfgIGBoRPmd+/dc16O"
                    + "OAkSiKUvOt977373z+/Odjp7e8+ePyIqMIYhUUo8tiihmOrUxAwjiCgCy34WBfMGaBvYjwHRd8xnoPegNsjhoBSzrUz2SPjg+HjE8wSY"
                    + "3OLSbQ8XsG3hY9AF4qqBjyy2tszm0enhG54/KAyGziz2NmN3PGzI2AOexcgswtXufbb4MBXfDs8xvOWJsYtAcflhsbcyzzbb4KRSmZ+c"
                    + "En0DrmXjSXR+qfAB+wPmSTHPbWdpbhxvbOJlD+OiOt590KXEmxtfmdFt4ERToO35BnXW21X+WJ9vTxM/3uVrYtYJqGHWDGvh8gU+2J6z"
                    + "zZ6cbX1GbPfErKNyj+ttKvGbesDMVlxirFEYkbtvZGLYKmNyNZoBGYnkqezXaD78uR6p4j42qNAN5HxZtj94UebRC/087i7mUYtsDoGz"
                    + "shj3KPg97jt/EHddeKZwbu3iait51fqh8J6S95TfoZIPlf4H757xOCuzt2Oq9KdK/knJq9a7wq+U/Er553Fzybn+q3WwIf7GGrlfj1J3"
                    + "B4eqHn1/m3Jdz3LXHq/j90rd0PSjqz8T18tXw6PXztaEdfAIykET0DloBvrKj6UOKgnUArVBOagL6oPedVj7vvec2KS/JrS6v8IN+ytR"
                    + "dR6u6S95JlJLyavW6Zr+c/5zJc+VflfJu947Y1X/OnlfyavWLs+xko8r+itUuP+9jtfIdR+VzSX7q/qGlvSN64h5Jyyv8ZpX3+5c7Tuw"
                    + "ad7UiZxWX87efWfkothXjX8eL+5PVLxj2b9U53r9TXf9Tfc3vulmuEkd81/iF9EImEBSDAAA");

    @TempDir
    Path folder;

    private static byte[] unpacked(String base64) {
        try (GZIPInputStream gzip =
                new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(base64)))) {
            return gzip.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private Path write(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private void assertMalformed(byte[] bytes, String message) throws IOException {
        Path path = write("bad.arrow", bytes);
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message).hasMessageContaining("bad.arrow").message().doesNotContain("\n");
    }

    private static void assertRows(RecordSource source) throws IOException {
        assertThat(source.elementType()).contains("<f4");
        assertThat(source.shape()).contains(List.of(3L));
        assertThat(source.maxLength()).isEqualTo(12);
        for (int i = 0; i < source.records(); i++) {
            byte[] file = Files.readAllBytes(source.files().get(source.file(i)));
            ByteBuffer row = ByteBuffer.wrap(file, (int) source.fileOffset(i), 12).order(ByteOrder.LITTLE_ENDIAN);
            for (int j = 1; j <= 3; j++) {
                assertThat(row.getFloat()).isEqualTo(3 * (i % 5) + j);
            }
        }
    }

    @Test
    void rowsOfTheRealWriterAreFound() throws IOException {
        Path file = write("a.arrow", FILE);
        Path stream = write("b.feather", STREAM);
        RecordSource source = RecordFiles.open(List.of(file, stream, file));
        assertThat(source.files()).containsExactly(file, stream, file);
        assertThat(source.records()).isEqualTo(15);
        assertThat(source.file(4)).isZero();
        assertThat(source.file(5)).isEqualTo(1);
        assertRows(source);
        RecordSource other = RecordFiles.arrow(List.of(write("c.arrow", MANY)), "x");
        assertThat(other.records()).isEqualTo(5);
        assertRows(other);
        RecordSource ids = RecordFiles.arrow(List.of(write("c.arrow", MANY)), "id");
        assertThat(ids.elementType()).contains("|V2");
        assertThat(ids.shape()).contains(List.of());
        assertThat(Arrays.copyOfRange(MANY, (int) ids.fileOffset(3), (int) ids.fileOffset(3) + 2)).asString()
                .isEqualTo("gh");
    }

    @Test
    void columnsWithoutPlainRowsAreRefusedByName() throws IOException {
        Path many = write("many.arrow", MANY);
        List.of("s: is of type Utf8, allowed: Int, FloatingPoint, FixedSizeBinary, and FixedSizeList of these",
                "d: is encoded by a dictionary, allowed: plain values; write column.dictionary_decode()",
                "st: is of type Struct", "bool: is of type Bool",
                "n: has 1 nulls in a record batch, allowed: none; write column.fill_null(…)",
                "none: has columns 's', 'd', 'st', 'n', 'id', 'x', 'bool', allowed: one of the name 'none'")
                .forEach(expected -> {
                    String column = expected.substring(0, expected.indexOf(':'));
                    assertThatThrownBy(() -> RecordFiles.arrow(List.of(many), column))
                            .isInstanceOf(RecordFormatException.class)
                            .hasMessageContaining(expected.substring(expected.indexOf(' ') + 1));
                });
        assertThatThrownBy(() -> RecordFiles.open(List.of(many)))
                .hasMessageContaining("allowed: one of the name that RecordFiles.arrow, or --column, tells");
    }

    @Test
    void compressedBatchesAreRefusedWithTheOptionThatWritesThemPlain() throws IOException {
        assertMalformed(ZSTD, "column 'x' has record batches compressed by zstd, allowed: plain ones; write them with"
                + " pyarrow.ipc.IpcWriteOptions(compression=None)");
    }

    @Test
    void damagedFilesAreRefused() throws IOException {
        assertMalformed(Arrays.copyOf(FILE, FILE.length - 1), "does not end with ARROW1: its writer was not closed");
        assertMalformed(new byte[0], "is no Arrow file: it has no schema");
        assertMalformed("PAR1".repeat(9).getBytes(), "is no message of Arrow");
        assertMalformed(Arrays.copyOf(STREAM, STREAM.length - 9), "ends inside a message: its body has");
        byte[] footer = FILE.clone();
        ByteBuffer.wrap(footer).order(ByteOrder.LITTLE_ENDIAN).putInt(FILE.length - 10, 1 << 30);
        assertMalformed(footer, "has a footer of 1073741824 bytes, allowed in this file: 0 to 864");
    }

    @Test
    void mutatedFilesFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 300; i++) {
            byte[] bytes = List.of(FILE, STREAM, MANY).get(random.nextInt(3)).clone();
            for (int changes = random.nextInt(3); changes >= 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            Path path = write("m.arrow", Arrays.copyOf(bytes, bytes.length - random.nextInt(2) * random.nextInt(99)));
            try {
                RecordSource source = RecordFiles.arrow(List.of(path), "x");
                if (source.records() > 0) {
                    long last = source.records() - 1;
                    assertThat(source.fileOffset(last) + source.length(last)).as("seed %d", seed)
                            .isBetween(1L, Files.size(path));
                }
            } catch (RecordFormatException e) {
                assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
            }
        }
    }
}
