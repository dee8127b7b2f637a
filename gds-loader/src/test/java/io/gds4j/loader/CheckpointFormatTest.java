package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.Logged;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.safetensors.SafetensorsFormat;
import io.gds4j.loader.internal.search.Formats;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How formats are found and chosen, and a format of a program. */
class CheckpointFormatTest {
    @TempDir
    Path folder;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.loader").about("CheckpointFormat");

    /** Files of the letters RAW and one tensor of the bytes after them. */
    public static final class RawFormat implements CheckpointFormat {
        @Override
        public String id() {
            return "raw";
        }

        @Override
        public Recognition recognize(FileHead head) {
            if (head.startsWith((byte) 'R', (byte) 'A', (byte) 'W', (byte) '2')) {
                return new Recognition.Unsupported("version 2 of raw", "write version 1");
            }
            return head.startsWith((byte) 'R', (byte) 'A', (byte) 'W')
                    ? Recognition.RECOGNIZED
                    : Recognition.UNRECOGNIZED;
        }

        @Override
        public CheckpointFile read(FormatInput in) {
            long length = in.size() - 3;
            String name = String.valueOf(in.path().getFileName());
            TensorInfo tensor = new TensorInfo(name, DType.opaque("raw", 1), List.of(length), in.path(), 3, length);
            return CheckpointFile.of(in.path(), in.size(), 3, List.of(tensor), Metadata.of(
                    Map.of("size", new MetadataValue.Whole(length, false))));
        }
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    private static CheckpointException failure(Path path) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        return e;
    }

    @Test
    void formatIsRecognisedByContentAndNotByName() {
        byte[] file = HeaderText.file("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
        Path path = HeaderText.write(folder.resolve("weights.bin"), file);
        Checkpoint checkpoint = Checkpoint.open(path);
        assertThat(checkpoint.format()).isInstanceOf(SafetensorsFormat.class);
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("a");
    }

    @Test
    void unknownContentIsAnsweredWithTheKnownFormats() throws IOException {
        CheckpointException e = failure(file("weights", "no checkpoint at all"));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNKNOWN_FORMAT);
        assertThat(e.getMessage()).contains("weights", "matches none", "safetensors");
        assertThat(failure(file("empty", "")).getMessage()).contains("the file is empty");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.bin", "a.pt", "a.pth", "a.npz"})
    void unknownContentIsNoBrokenZipFileWhateverItsName(String name) throws IOException {
        assertThat(failure(file(name, "no checkpoint at all")).getMessage())
                .contains("no known format", "matches none").doesNotContain("zip");
        assertThat(failure(file(name, "")).getMessage()).contains("the file is empty").doesNotContain("zip");
        assertThat(failure(file(name, "PK\3\4 and no more")).getMessage()).contains("broken zip file");
    }

    @ParameterizedTest
    @ValueSource(strings = {"https://host/model.safetensors", "s3://bucket/model"})
    void urlThatIsTakenForAFileIsNamed(String url) {
        assertThat(failure(Path.of(url)).getMessage()).contains("this was a URL", "Checkpoint.open(URI");
    }

    @Test
    void indexIsRecognisedByItsContent() throws IOException {
        file("a.safetensors", "broken");
        Path index = file("shards", " {\"weight_map\":{\"a\":\"a.safetensors\"}}");
        assertThat(failure(index).rule()).isEqualTo(CheckpointRule.HEADER_TOO_SMALL);
    }

    @Test
    void formatOfTheProgramReadsFilesAndFolders() throws IOException {
        Path one = file("one", "RAW12");
        file("two", "RAW345");
        file("other", "text");
        CheckpointFormat raw = new RawFormat();
        Checkpoint checkpoint = Checkpoint.open(one, raw);
        assertThat(checkpoint.format()).isSameAs(raw);
        assertThat(checkpoint.tensors().get("one").length()).isEqualTo(2);
        assertThat(checkpoint.metadata()).isEmpty();
        assertThat(checkpoint.typedMetadata().get("size")).contains(new MetadataValue.Whole(2, false));
        assertThat(Checkpoint.open(folder, raw).tensors()).containsOnlyKeys("one", "two");
        Path index = file("x.index.json", "{\"weight_map\":{\"two\":\"two\"}}");
        assertThat(Checkpoint.open(index, raw).tensors()).containsOnlyKeys("two");
    }

    /** One tensor of bytes anywhere. */
    private record Anywhere(long offset, long length, long elements, String file) implements CheckpointFormat {
        @Override
        public String id() {
            return "anywhere";
        }

        @Override
        public Recognition recognize(FileHead head) {
            return Recognition.RECOGNIZED;
        }

        @Override
        public CheckpointFile read(FormatInput in) {
            TensorInfo tensor = new TensorInfo("t", DType.U8, List.of(elements), in.path().resolveSibling(file), offset,
                    length);
            return CheckpointFile.of(in.path(), in.size(), 0, List.of(tensor), Metadata.of(Map.of()));
        }
    }

    @ParameterizedTest
    @CsvSource({
            "-1, 4, 4, six, InvalidOffset",
            "3, 4, 4, six, InvalidOffset",
            "9223372036854775807, 4, 4, six, InvalidOffset",
            "0, 4, 4, other, InvalidOffset",
            "0, 4, 5, six, TensorInvalidInfo",
            "0, 0, 4, six, TensorInvalidInfo",
            "0, -4, -4, six, TensorInvalidInfo"})
    void extentsThatDoNotFitTheirFileAreRefused(long offset, long length, long elements, String of, String rule)
            throws IOException {
        Path path = file("six", "123456");
        file("other", "123456");
        CheckpointFormat format = new Anywhere(offset, length, elements, of);
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path, format));
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains("tensor 't' has " + length + " bytes").doesNotContain("\n");
    }

    @Test
    void unsupportedFileIsRefusedByName() throws IOException {
        Path path = file("new", "RAW2");
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path, new RawFormat()));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains("this is version 2 of raw; write version 1");
    }

    @Test
    void formatsAreFoundByServiceFileOrName() {
        assertThat(Formats.find(services(RawFormat.class.getName()))).extracting(CheckpointFormat::id)
                .startsWith("safetensors").endsWith("raw");
        assertThat(Formats.find(services(""))).extracting(CheckpointFormat::id).contains("safetensors");
        assertThat(Formats.find(services("no.such.Format"))).extracting(CheckpointFormat::id).contains("safetensors");
        assertThat(logged.lines()).anyMatch(line -> line.contains("SafetensorsFormat; found by name"))
                .anyMatch(line -> line.contains("Provider no.such.Format not found"));
    }

    /** Returns a loader whose only service file for formats has this line. */
    private static ClassLoader services(String line) {
        return new ClassLoader(CheckpointFormatTest.class.getClassLoader()) {
            @Override
            public Enumeration<URL> getResources(String name) throws IOException {
                if (!name.equals("META-INF/services/" + CheckpointFormat.class.getName())) {
                    return super.getResources(name);
                }
                return Collections.enumeration(List.of(URL.of(URI.create("memory:services"), new URLStreamHandler() {
                    @Override
                    protected URLConnection openConnection(URL url) {
                        return new URLConnection(url) {
                            @Override
                            public void connect() {
                                // the text is in memory
                            }

                            @Override
                            public InputStream getInputStream() {
                                return new ByteArrayInputStream(line.getBytes(StandardCharsets.UTF_8));
                            }
                        };
                    }
                })));
            }
        };
    }

    @Test
    void readsOutsideTheFileAreRefused() throws IOException {
        try (FormatInput in = FormatInput.open(file("short", "12345"))) {
            assertThat(in.read(3, 2).get(0)).isEqualTo((byte) '4');
            for (long offset : new long[]{-1, 4, 6, Long.MAX_VALUE}) {
                CuFileException e = catchThrowableOfType(CuFileException.class, () -> in.read(offset, 2));
                assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
            }
        }
    }

    @Test
    void sizesOfTypesAreCheckedForOverflow() {
        DType q4 = new DType("Q4_0", 32, 18);
        assertThat(q4.bytes(64)).hasValue(36);
        assertThat(q4.bytes(63)).isEmpty();
        assertThat(q4.bytes(Long.MAX_VALUE / 32 * 32)).hasValue(Long.MAX_VALUE / 32 * 18);
        assertThat(q4.bits()).isZero();
        assertThat(DType.C128.bytes(Long.MAX_VALUE / 16)).hasValue(Long.MAX_VALUE / 16 * 16);
        assertThat(DType.C128.bytes(Long.MAX_VALUE / 16 + 1)).isEmpty();
        assertThat(DType.U8.bytes(-1)).isEmpty();
        assertThat(DType.F4.bytes(List.of(3L, 2L))).hasValue(3);
        assertThat(DType.F4.bytes(List.of(3L))).isEmpty();
        assertThat(DType.F32.bytes(List.of())).hasValue(4);
        assertThat(DType.F32.bytes(List.of(-1L, 0L))).hasValue(0);
        assertThat(DType.F32.bytes(List.of(-1L))).isEmpty();
        assertThat(DType.F32.bytes(List.of(1L << 32, 1L << 31))).isEmpty();
        assertThat(DType.opaque("V12", 12).bytes(List.of(2L))).hasValue(24);
        assertThat(catchThrowableOfType(CuFileException.class, () -> DType.opaque("x", -1)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
    }
}
