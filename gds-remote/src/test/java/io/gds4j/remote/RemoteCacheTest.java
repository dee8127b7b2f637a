package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The limit of a folder of blocks. */
class RemoteCacheTest {
    private static final int BLOCK = 8 << 20;
    private static final int REST = (1 << 20) - 1;
    private static final byte[] BYTES = RangeServer.random(BLOCK + REST);

    /** Two blocks with their checksums. */
    private static final long LIMIT = 2 * (BLOCK + 8);

    @TempDir
    Path folder;

    private final RangeServer server = new RangeServer();

    @AfterEach
    void stop() {
        server.close();
    }

    private RangeSource open(String name) throws IOException {
        HttpOptions options = HttpOptions.DEFAULTS.withCache(new RemoteCache(folder, LIMIT));
        return HttpFiles.path(server.put(name, BYTES), options).openSource();
    }

    private static void read(RangeSource source, int offset, int size) throws Exception {
        byte[] into = new byte[size];
        assertThat(source.read(offset, MemorySegment.ofArray(into), Cancellation.NEVER)).isEqualTo(size);
        assertThat(Arrays.mismatch(into, 0, size, BYTES, offset, offset + size)).isEqualTo(-1);
    }

    private long bytes() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
        }
    }

    /** Each object once had room of its own beyond the limit. */
    @Test
    void objectsOfAProcessShareTheRoomBeyondTheLimit() throws Exception {
        List<RangeSource> sources = new ArrayList<>();
        for (String name : List.of("/a", "/b", "/c")) {
            sources.add(open(name));
            read(sources.getLast(), 0, BLOCK);
        }
        for (RangeSource source : sources) {
            read(source, BLOCK, REST);
        }
        assertThat(bytes()).isLessThanOrEqualTo(LIMIT + LIMIT / 16);
    }

    private Path onlyBlock() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> !file.getFileName().toString().endsWith(".part")).findFirst().orElseThrow();
        }
    }

    /** Opening a pipe waits for its writer; a link leads to a file of another place. */
    @Test
    @Timeout(60)
    void pipesAndLinksAreNotBelieved() throws Exception {
        read(open("/a"), 0, BLOCK);
        Path block = onlyBlock();
        Path elsewhere = Files.move(block, Files.createDirectory(folder.resolve("d")).resolve("copy"));
        Files.createSymbolicLink(block, elsewhere);
        int before = server.requests();
        read(open("/a"), 0, BLOCK);
        assertThat(server.requests()).as("read from the server").isGreaterThan(before + 1);
        assertThat(block).isRegularFile();
        Files.delete(block);
        assertThat(new ProcessBuilder("mkfifo", block.toString()).start().waitFor()).isZero();
        before = server.requests();
        read(open("/a"), 0, BLOCK);
        assertThat(server.requests()).as("read from the server").isGreaterThan(before + 1);
    }

    @Test
    void blockUnderTheNameOfAnotherIsNotBelieved() throws Exception {
        read(open("/a"), 0, BLOCK);
        Path first = onlyBlock();
        Files.delete(first);
        read(open("/b"), 0, BLOCK);
        Path second = onlyBlock();
        Files.move(second, first);
        int before = server.requests();
        read(open("/a"), 0, BLOCK);
        assertThat(server.requests()).as("read from the server").isGreaterThan(before + 1);
    }

    @Test
    void folderIsMadeForItsUserOnly() throws Exception {
        Path made = folder.resolve("x/y");
        HttpOptions options = HttpOptions.DEFAULTS.withCache(new RemoteCache(made, LIMIT));
        read(HttpFiles.path(server.put("/a", BYTES), options).openSource(), 0, BLOCK);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made))).isEqualTo("rwx------");
    }

    /** Such as lost+found at the root of a disk. */
    @Test
    void folderInTheFolderStaysAndStopsNoTrim() throws Exception {
        Path inner = Files.createDirectories(folder.resolve("lost+found/x")).getParent();
        Files.setLastModifiedTime(inner, FileTime.fromMillis(0));
        for (String name : List.of("/a", "/b", "/c")) {
            read(open(name), 0, BLOCK);
        }
        assertThat(bytes()).isLessThanOrEqualTo(LIMIT);
        assertThat(inner).isDirectory();
    }
}
