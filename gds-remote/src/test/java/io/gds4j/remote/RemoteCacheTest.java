package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
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
    private static final long LIMIT = 2 * (BLOCK + 8 * 128);

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
        Files.createLink(folder.resolve("d/other"), block);
        before = server.requests();
        read(open("/a"), 0, BLOCK);
        assertThat(server.requests()).as("read from the server").isGreaterThan(before + 1);
        Files.delete(block);
        assertThat(new ProcessBuilder("mkfifo", block.toString()).start().waitFor()).isZero();
        before = server.requests();
        read(open("/a"), 0, BLOCK);
        assertThat(server.requests()).as("read from the server").isGreaterThan(before + 1);
    }

    /** Another user, who may rename in the folder, exchanges the block for one of his own while it is read. */
    @Test
    void blockThatIsExchangedWhileItIsReadIsNotBelieved() throws Exception {
        CacheFolder cache = new CacheFolder(new RemoteCache(folder, LIMIT));
        String name = "0".repeat(64) + "-0";
        Path block = folder.resolve(name);
        Path theirs = folder.resolve("theirs");
        byte[] bytes = {'t', 'h', 'e', 'i', 'r', 's'};
        assertThat(cache.store(name, MemorySegment.ofArray(bytes))).isTrue();
        Files.move(block, theirs);
        try {
            Files.setAttribute(theirs, "unix:uid", 65_534);
        } catch (IOException e) {
            Files.createLink(folder.resolve("link"), theirs); // only root can play the other user
        }
        byte[] ours = new byte[bytes.length];
        assertThat(cache.store(name, MemorySegment.ofArray(ours))).isTrue();
        Path aside = folder.resolve("aside");
        byte[] found = new byte[bytes.length];
        try (FoundFile mine = FoundFile.at(block, LinkOption.NOFOLLOW_LINKS)) {
            Files.move(block, aside);
            Files.move(theirs, block);
            assertThat(cache.read(mine, name, found.length, 0, MemorySegment.ofArray(found))).isTrue();
            assertThat(found).isEqualTo(ours);
        }
        try (FoundFile other = FoundFile.at(block, LinkOption.NOFOLLOW_LINKS)) {
            Files.move(block, theirs);
            Files.move(aside, block);
            assertThat(cache.read(other, name, found.length, 0, MemorySegment.ofArray(found))).isFalse();
        }
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

    /** The folder may be one of the user's by mistake. */
    @Test
    void filesOfOthersStay() throws Exception {
        List<Path> others = new ArrayList<>();
        String block = "0123456789abcdef".repeat(4);
        for (String name : List.of("thesis.odt", "model.safetensors", "download.part", block, block + "-1.safetensors",
                "x" + block + "-1", block + "-1.part.part")) {
            Path file = Files.write(folder.resolve(name), new byte[1 << 20]);
            Files.setLastModifiedTime(file, FileTime.fromMillis(0));
            others.add(file);
        }
        others.add(Files.createLink(folder.resolve(block + "-2"), others.getFirst()));
        others.add(Files.createSymbolicLink(folder.resolve(block + "-3"), others.getLast()));
        for (String name : List.of("/a", "/b", "/c", "/d")) {
            read(open(name), 0, BLOCK);
        }
        assertThat(others).allMatch(Files::isRegularFile);
        assertThat(bytes()).isLessThanOrEqualTo(LIMIT + LIMIT / 16 + others.size() * (1L << 20));
    }

    @Test
    void unfinishedBlocksCountAndAreRemovedWhenTheyAreOld() throws Exception {
        String name = "0123456789abcdef".repeat(4) + "-17";
        Path fresh = Files.write(folder.resolve(name + "1.part"), new byte[BLOCK]);
        Path old = Files.write(folder.resolve(name + "2.part"), new byte[BLOCK]);
        Files.setLastModifiedTime(old, FileTime.fromMillis(0));
        for (String object : List.of("/a", "/b", "/c")) {
            read(open(object), 0, BLOCK);
        }
        assertThat(old).doesNotExist();
        assertThat(fresh).exists();
        assertThat(bytes()).isLessThanOrEqualTo(LIMIT + LIMIT / 16);
    }

    private List<Path> blocks() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    /** As a repair of a file system or a restored copy may leave them. */
    @Test
    void blocksInThePlaceOfOthersAreFound() throws Exception {
        byte[] bytes = RangeServer.random(2 * BLOCK);
        HttpOptions options = HttpOptions.DEFAULTS.withCache(new RemoteCache(folder, 64 << 20));
        Path object = HttpFiles.path(server.put("/two", bytes), options);
        Files.readAllBytes(object);
        Path one = blocks().getFirst();
        Path other = blocks().getLast();
        byte[] first = Files.readAllBytes(one);
        Files.copy(other, one, StandardCopyOption.REPLACE_EXISTING);
        Files.write(other, first);
        assertThat(Arrays.mismatch(Files.readAllBytes(HttpFiles.path(server.uri("/two"), options)), bytes))
                .isEqualTo(-1);
    }

    @Test
    void anyPartOfABlockIsRead() throws Exception {
        RangeSource source = open("/parts");
        read(source, 70_000, 10);
        int before = server.requests();
        Random random = new Random(7);
        for (int i = 0; i < 200; i++) {
            int size = 1 + random.nextInt(i % 2 == 0 ? 5000 : 300_000);
            read(source, random.nextInt(BLOCK + REST - size), size);
        }
        read(source, 0, BLOCK + REST);
        read(source, 65_536, 65_536);
        read(source, BLOCK + REST - 1, 1);
        assertThat(server.requests()).isLessThanOrEqualTo(before + 2);
    }

    /** A block that was read in part stayed in the heap for each open object. */
    @Test
    void smallReadOfAWarmBlockTakesLittleHeap() throws Exception {
        RangeSource source = open("/heap");
        read(source, 70_000, 10);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        MemorySegment into = MemorySegment.ofArray(new byte[4096]);
        source.read(1 << 20, into, Cancellation.NEVER);
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 100; i++) {
            source.read(100_000L + i * 70_000, into, Cancellation.NEVER);
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(100 * 300_000L);
    }

    /** Each small read fetched eight megabytes, for nothing. */
    @Test
    void folderThatTakesNothingCostsOneBlock() throws Exception {
        Path file = Files.write(folder.resolve("file"), new byte[0]);
        HttpOptions options = HttpOptions.DEFAULTS.withCache(new RemoteCache(file.resolve("x"), 16 << 20));
        RangeSource source = HttpFiles.path(server.put("/none", BYTES), options).openSource();
        read(source, 100_000, 4096);
        int before = server.exchanges.size();
        read(source, 200_000, 4096);
        read(source, BLOCK - 10, 4096);
        assertThat(server.exchanges.subList(before, server.exchanges.size()))
                .hasSize(3)
                .allSatisfy(exchange -> assertThat(exchange.getResponseHeaders().getFirst("Content-Length"))
                        .hasSizeLessThan(5));
    }
}
