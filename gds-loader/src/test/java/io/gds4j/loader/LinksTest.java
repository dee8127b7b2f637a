package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.loader.parallel.AttentionHeads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule for links: within the folder of a checkpoint and to the blobs of its repository; elsewhere only on demand. */
@Timeout(60)
class LinksTest {
    private static final String INDEX = "model.safetensors.index.json";

    @TempDir
    Path root;

    private Path model;
    private Path outside;

    @BeforeEach
    void makeFolders() throws IOException {
        model = Files.createDirectory(root.resolve("model"));
        outside = Files.createDirectory(root.resolve("outside"));
    }

    private static Path tensor(Path file, String name) {
        return HeaderText.write(
                file,
                HeaderText.file("{\"%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}".formatted(name), 2));
    }

    private static Path extents(Path list, String file) throws IOException {
        return Files.writeString(list, """
                {"schema": "gds4j.extents/1", "extents": [
                    {"name": "w", "file": "%s", "offset": 0, "bytes": 2, "dtype": "U8", "shape": [2]}]}"""
                .formatted(file));
    }

    private static Path index(Path file, String shard) throws IOException {
        return Files.writeString(file, "{\"weight_map\":{\"w\":\"%s\"}}".formatted(shard));
    }

    private static byte[] part(int number) {
        GgufBytes file = new GgufBytes();
        return file.key("split.no", GgufBytes.UINT16, file.number(2, number))
                .key("split.count", GgufBytes.UINT16, file.number(2, 2)).tensor("w" + number, 0, 128, 32).file();
    }

    private static CheckpointException failure(Path path) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        return e;
    }

    /** Lays a link that leads out in a place of each format; returns the path to open, and the link last. */
    private List<Path> leadingOut(String place) throws IOException {
        Path file = tensor(outside.resolve("w.safetensors"), "w");
        Path link = model.resolve(place.equals("folder in a list") ? "sub" : "x.safetensors");
        switch (place) {
            case "file of a folder" -> Files.createSymbolicLink(model.resolve("model.safetensors"), file);
            case "relative link" ->
                Files.createSymbolicLink(model.resolve("model.safetensors"), Path.of("../outside/w.safetensors"));
            case "index of a folder" -> {
                index(outside.resolve(INDEX), "x.safetensors");
                tensor(link, "w");
                Files.createSymbolicLink(model.resolve(INDEX), outside.resolve(INDEX));
            }
            case "shard" -> {
                Files.createSymbolicLink(link, file);
                return List.of(index(model.resolve(INDEX), "x.safetensors"));
            }
            case "shard of a folder" -> {
                Files.createSymbolicLink(link, file);
                index(model.resolve(INDEX), "x.safetensors");
            }
            case "file in a list" -> {
                Files.createSymbolicLink(link, file);
                return List.of(extents(model.resolve("l.extents.json"), "x.safetensors"));
            }
            case "folder in a list" -> {
                Files.createSymbolicLink(link, outside);
                return List.of(extents(model.resolve("l.extents.json"), "sub/w.safetensors"));
            }
            case "part of a set" -> {
                Files.write(model.resolve("m-00001-of-00002.gguf"), part(0));
                Files.createSymbolicLink(
                        model.resolve("m-00002-of-00002.gguf"), Files.write(outside.resolve("two"), part(1)));
                return List.of(model.resolve("m-00001-of-00002.gguf"));
            }
            default -> Files.createSymbolicLink(model.resolve("w.npy"), Files.write(outside.resolve("w.npy"),
                    npy()));
        }
        return List.of(model);
    }

    private static byte[] npy() {
        String header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
        String text = "\u0093NUMPY\1\0" + (char) (header.length() + 1) + "\0" + header + "\n" + "\1\2";
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "file of a folder", "relative link", "index of a folder", "shard", "shard of a folder", "file in a list",
            "folder in a list", "part of a set", "array"})
    void linkThatLeadsOutIsRefusedUnlessFollowed(String place) throws IOException {
        Path path = leadingOut(place).getFirst();
        CheckpointException e = failure(path);
        assertThat(e.rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
        assertThat(e.errno()).hasValue(Errno.EACCES);
        assertThat(e.getMessage())
                .startsWith(model.toString())
                .contains("link not followed: it leads out of the folder, to '" + outside.toRealPath(),
                        "--follow-links")
                .doesNotContain("\n");
        assertThat(Checkpoint.open(path, FileVisitOption.FOLLOW_LINKS).tensors()).isNotEmpty();
    }

    @Test
    void namedPathMayBeALink() throws IOException {
        Path file = tensor(model.resolve("model.safetensors"), "w");
        Path link = Files.createSymbolicLink(root.resolve("link"), model);
        assertThat(Checkpoint.open(link).tensors()).containsOnlyKeys("w");
        assertThat(Checkpoint.open(link.resolve("../model")).tensors()).containsOnlyKeys("w");
        assertThat(Checkpoint.open(link.resolve("model.safetensors")).tensors()).containsOnlyKeys("w");
        assertThat(Checkpoint.open(Files.createSymbolicLink(outside.resolve("l.safetensors"), file)).tensors())
                .containsOnlyKeys("w");
        Path index = index(outside.resolve(INDEX), "l.safetensors");
        Path other = Files.createSymbolicLink(model.resolve(INDEX), index);
        Files.createSymbolicLink(model.resolve("l.safetensors"), Path.of("model.safetensors"));
        assertThat(Checkpoint.open(other).tensors()).containsOnlyKeys("w");
        assertThat(failure(index).rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
    }

    @Test
    void linksWithinTheFolderAreFollowed() throws IOException {
        Files.createDirectories(model.resolve("..data"));
        tensor(model.resolve("..data/w.safetensors"), "w");
        Files.createSymbolicLink(model.resolve("now"), Path.of("..data"));
        Files.createSymbolicLink(model.resolve("model.safetensors"), Path.of("now/w.safetensors"));
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("w");
        Path list = extents(model.resolve("l.extents.json"), "now/w.safetensors");
        assertThat(Checkpoint.open(list).tensors()).containsOnlyKeys("w");
        // leads out and in again: the file is within
        Files.createSymbolicLink(model.resolve("round"), Path.of("../model/..data"));
        extents(list, "round/w.safetensors");
        assertThat(Checkpoint.open(list).tensors()).containsOnlyKeys("w");
    }

    @ParameterizedTest
    @ValueSource(strings = {"models--org--name", "datasets--name"})
    void filesOfTheHuggingFaceCacheAreBlobs(String repository) throws IOException {
        Path hub = Files.createDirectory(root.resolve("hub"));
        Path snapshot = Files.createDirectories(hub.resolve(repository).resolve("snapshots/0123abcd"));
        Path unet = Files.createDirectory(snapshot.resolve("unet"));
        Path blobs = Files.createDirectory(hub.resolve(repository).resolve("blobs"));
        tensor(blobs.resolve("aa"), "w");
        Files.writeString(blobs.resolve("cc"), "{\"num_attention_heads\": 4}");
        Files.createSymbolicLink(snapshot.resolve("x.safetensors"), Path.of("../../blobs/aa"));
        Files.createSymbolicLink(snapshot.resolve(INDEX), index(blobs.resolve("bb"), "x.safetensors"));
        Files.createSymbolicLink(snapshot.resolve("config.json"), Path.of("../../blobs/cc"));
        Files.createSymbolicLink(unet.resolve("model.safetensors"), Path.of("../../../blobs/aa"));
        Path link = Files.createSymbolicLink(root.resolve("link"), hub);
        Path linked = link.resolve(repository).resolve("snapshots/0123abcd");
        for (Path path : List.of(snapshot, snapshot.resolve(INDEX), unet, linked, linked.resolve("unet"))) {
            assertThat(Checkpoint.open(path).tensors()).as("%s", path).containsOnlyKeys("w");
        }
        assertThat(AttentionHeads.of(snapshot, Metadata.of(Map.of()))).hasValue(new AttentionHeads(4));
        // blobs of another repository, what is below a blob, and blobs that are elsewhere
        Path other = Files.createDirectories(hub.resolve("models--other/blobs"));
        Files.createDirectory(blobs.resolve("dd"));
        for (Path place : List.of(tensor(other.resolve("aa"), "w"), tensor(blobs.resolve("dd/aa"), "w"))) {
            Files.delete(unet.resolve("model.safetensors"));
            Files.createSymbolicLink(unet.resolve("model.safetensors"), place);
            assertThat(failure(unet).rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
        }
        Files.move(blobs, outside.resolve("blobs"));
        Files.createSymbolicLink(blobs, outside.resolve("blobs"));
        assertThat(failure(snapshot).rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
    }

    @Test
    void snapshotsOfOtherFoldersHaveNoBlobs() throws IOException {
        Path snapshot = Files.createDirectories(root.resolve("backup/snapshots/0123abcd"));
        Files.createDirectory(root.resolve("backup/blobs"));
        tensor(root.resolve("backup/blobs/aa"), "w");
        Files.createSymbolicLink(snapshot.resolve("model.safetensors"), Path.of("../../blobs/aa"));
        assertThat(failure(snapshot).rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
    }

    @Test
    void configurationOutsideIsReadOnDemandOnly() throws IOException {
        tensor(model.resolve("model.safetensors"), "w");
        Path config = Files.writeString(outside.resolve("config.json"), "{\"num_attention_heads\": 4}");
        Files.createSymbolicLink(model.resolve("config.json"), config);
        for (Path path : List.of(model, model.resolve("model.safetensors"))) {
            assertThatThrownBy(() -> AttentionHeads.of(path, Metadata.of(Map.of())))
                    .isInstanceOfSatisfying(CheckpointException.class,
                            e -> assertThat(e.rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE))
                    .hasMessageContaining(config.toRealPath().toString());
            assertThat(AttentionHeads.of(path, Metadata.of(Map.of()), FileVisitOption.FOLLOW_LINKS))
                    .hasValue(new AttentionHeads(4));
        }
    }

    @Test
    void loopIsTheWrongKindOfFile() throws IOException {
        Path loop = Files.createSymbolicLink(model.resolve("model.safetensors"), Path.of("model.safetensors"));
        for (Path path : List.of(model, loop, loop.resolve("below"))) {
            CheckpointException e = failure(path);
            assertThat(e.rule()).as("%s", path).isEqualTo(CheckpointRule.FILE_TYPE);
            assertThat(e.getMessage()).contains("a loop of links");
        }
        Files.delete(loop);
        Files.createSymbolicLink(model.resolve("x.gguf"), Path.of("x.gguf"));
        assertThat(failure(model).rule()).isEqualTo(CheckpointRule.FILE_TYPE);
    }

    /** The errno of a file is that of libc, and of a folder that of java.nio. */
    @Test
    void nameThatIsTooLongHasItsErrno() {
        for (String name : List.of("n".repeat(256) + ".safetensors", "n".repeat(256))) {
            assertThat(failure(model.resolve(name)).errno()).hasValue(Errno.ENAMETOOLONG);
        }
    }

    @Test
    void tooManyOpenFilesHaveTheirErrno() throws Exception {
        tensor(model.resolve("a.safetensors"), "a");
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        posix.on(PosixCall.OPEN).always().fails(Errno.EMFILE);

        CheckpointException e = OpenedFile.with(posix, () -> failure(model.resolve("a.safetensors")));

        assertThat(e.rule()).isEqualTo(CheckpointRule.READ_FAILED);
        assertThat(e.errno()).hasValue(Errno.EMFILE);
    }

    @Test
    void otherFilesThatLeadOutAreLeftOut() throws IOException {
        tensor(model.resolve("a.safetensors"), "a");
        Files.createSymbolicLink(model.resolve("notes.txt"), Files.writeString(outside.resolve("notes"), "x"));
        Files.createSymbolicLink(model.resolve("data"), outside);
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
    }

    @Test
    void hintsLookIntoNoFolderOutside() throws IOException {
        tensor(outside.resolve("w.safetensors"), "w");
        Files.createSymbolicLink(model.resolve("data"), outside);
        assertThat(failure(model).getMessage()).doesNotContain("there are weights");
    }

    /** A link that changes between a look at it and the open never leads out: it changes after each look in turn. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void linkThatChangesIsNeverFollowedOutside(boolean beginsOutside) throws Exception {
        Path inner = tensor(model.resolve("w1"), "inner");
        Path secret = tensor(outside.resolve("secret"), "secret");
        Path link = model.resolve("x.safetensors");
        boolean changed = true;
        int looks = 0;
        for (; changed; looks++) {
            link(link, beginsOutside ? secret : inner);
            FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
            PosixFault look = posix.on(PosixCall.STATX).path("/x.safetensors").nth(looks + 1)
                    .runsFirst(() -> link(link, beginsOutside ? inner : secret));
            try {
                Checkpoint checkpoint = OpenedFile.with(posix, () -> Checkpoint.open(model));
                assertThat(checkpoint.tensors()).as("look %s", looks).containsOnlyKeys("inner");
            } catch (CheckpointException e) {
                assertThat(e.rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
            }
            changed = look.hits() > 0;
        }
        assertThat(looks).isGreaterThan(1);
    }

    private static void link(Path link, Path target) {
        try {
            Files.deleteIfExists(link);
            Files.createSymbolicLink(link, target);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The kernel's answer is the last one: java.nio, asked again, may find another file, or a pipe. */
    @Test
    void nameThatTheKernelDoesNotFindIsNotAskedForAgain() throws Exception {
        tensor(model.resolve("model.safetensors"), "w");
        // the bytes of the name are no text, so libc gets another name than java.nio
        assertThat(new ProcessBuilder("sh", "-c", "cp \"$0/model.safetensors\" \"$0/$(printf 'x\\377').safetensors\"",
                model.toString()).start().waitFor()).isZero();
        Path odd;
        try (Stream<Path> files = Files.list(model)) {
            odd = files.filter(file -> file.getFileName().toString().startsWith("x")).findFirst().orElseThrow();
        }
        assertThat(failure(odd).getMessage()).contains("cannot spell the name").doesNotContain("\n");
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("w");
    }

    /** Describes data of another file without a look at it. */
    private record Careless(String id, List<String> suffixes) implements TestFormat {
        @Override
        public CheckpointFile read(FormatInput in) {
            return CheckpointFile.of(in.path(), in.size(), 0, List.of(), Metadata.of(Map.of()));
        }

        @Override
        public List<CheckpointFile> combine(List<CheckpointFile> files) {
            Path data = files.getFirst().path().resolveSibling("data");
            TensorInfo tensor = new TensorInfo("w", DType.U8, List.of(2L), data, 0, 2);
            return List.of(CheckpointFile.of(data, 2, 0, List.of(tensor), Metadata.of(Map.of())));
        }
    }

    @Test
    void formatOfAProgramDescribesNoDataOutside() throws IOException {
        CheckpointFormat careless = new Careless("careless", List.of(".c"));
        Path file = Files.writeString(model.resolve("m.c"), "x");
        Path data = Files.createSymbolicLink(model.resolve("data"), Files.writeString(outside.resolve("d"), "xy"));
        assertThatThrownBy(() -> Checkpoint.open(file, careless))
                .isInstanceOf(CheckpointException.class).hasMessageContaining("link not followed");
        assertThat(Checkpoint.open(file, careless, FileVisitOption.FOLLOW_LINKS).tensors()).containsOnlyKeys("w");
        Files.delete(data);
        Files.writeString(data, "xy");
        assertThat(Checkpoint.open(file, careless).files().getFirst().version().file()).isNotEmpty();
    }
}
