package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.ffi.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random hostile folders do no harm: each ends in a checkpoint or in one inert line, within seconds, a small heap and the
 * descriptors of before, and nothing outside is read or written. {@code -Dgds4j.property.seconds} of 10 or more makes 5,000 of them,
 * {@code -Dgds4j.hostile.folders=N} makes N.
 */
@Tag("slow")
class HostileFilesTest {
    private static final int FOLDERS = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 5000 : 700;

    /** In memory, where it does not wait for a disk: many folders are saved. */
    private Path folder;

    @BeforeEach
    void make() throws IOException {
        Path memory = Path.of("/dev/shm");
        folder = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "gds4j-hostile-")
                : Files.createTempDirectory("gds4j-hostile-");
    }

    @AfterEach
    void delete() throws IOException {
        HostileFilesChild.delete(folder);
    }

    @Test
    void hostileFoldersDoNoHarm() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Path canary = Files.createDirectory(folder.resolve("canary"));
        Files.writeString(canary.resolve("secret"), "PRECIOUS");
        Files.createDirectory(canary.resolve("inner"));
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        Path work = Files.createDirectory(folder.resolve("work"));
        Map<String, String> before = content(canary);
        ChildJvm.End end = new ChildJvm(
                HostileFilesChild.class, Files.createDirectory(folder.resolve("output")), Checkpoint.class,
                HostileFilesChild.class, CompatBackend.class, CuFileDriver.class)
                .with("-Xmx128m")
                .run(work.toString(), canary.toString(), pipe.toString(),
                        Integer.toString(Integer.getInteger("gds4j.hostile.folders", FOLDERS)), Long.toString(seed));
        assertThat(end.status()).as("-Dgds4j.property.seed=%d: %s", seed, end).isZero();
        assertThat(content(canary)).as("-Dgds4j.property.seed=%d", seed).isEqualTo(before);
        try (Stream<Path> beside = Files.list(folder)) {
            assertThat(beside).containsExactlyInAnyOrder(canary, pipe, work, folder.resolve("output"));
        }
        assertThat(work).isEmptyDirectory();
        int[] counts = Arrays.stream(end.output().split("\\D+")).mapToInt(Integer::parseInt).toArray();
        assertThat(counts[1]).as("refusals of %s", end.output()).isGreaterThan(counts[0] / 4);
        assertThat(counts[3]).as("saved of %s", end.output()).isGreaterThan(counts[0] / 50);
    }

    /** Returns every path with its time, size and content. */
    private static Map<String, String> content(Path folder) throws IOException {
        Map<String, String> found = new TreeMap<>();
        try (Stream<Path> files = Files.walk(folder)) {
            files
                    .forEach(file -> {
                        try {
                            boolean regular = Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
                            found.put(file.toString(),
                                    Files.getAttribute(file, "unix:ctime", LinkOption.NOFOLLOW_LINKS) + " "
                                            + Files.getLastModifiedTime(file) + " "
                                            + (regular ? Files.readString(file) : ""));
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
        }
        return found;
    }
}
