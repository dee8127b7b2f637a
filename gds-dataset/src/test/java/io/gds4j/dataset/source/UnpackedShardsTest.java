package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Shards that MDSWriter of mosaicml-streaming 0.13.0 wrote, with {@code compression='zstd:7', hashes=['sha1', 'xxh64'], size_limit=900}
 * and the columns of {@code {'image': bytes([i]) * 300, 'label': i, 'text': 'ab' * i}} for four samples.
 */
class UnpackedShardsTest {
    private static final String SHARD = """
            {"column_encodings": ["bytes", "int", "str"], "column_names": ["image", "label", "text"],
            "column_sizes": [null, 8, null], "compression": "zstd:7", "format": "mds", "hashes": ["sha1", "xxh64"],
            "raw_data": {"basename": "shard.0000%d.mds", "bytes": %d, "hashes": {"sha1": "%s", "xxh64": "%s"}},
            "samples": 2, "size_limit": 900, "version": 2,
            "zip_data": {"basename": "shard.0000%d.mds.zstd", "bytes": %d, "hashes": {}}}""";
    private static final String INDEX = "{\"shards\": [%s, %s], \"version\": 2}".formatted(
            SHARD.formatted(0, 876, "48633fc5a35a3564515c82124990d26eb0c83032", "d19367e46dfa8ee0", 0, 206),
            SHARD.formatted(1, 884, "0b0468dfdf23dcd8798587fb7929b6dedb8d0a59", "afe48a12f4b96e54", 1, 216));
    private static final byte[] FIRST = Base64.getDecoder().decode("""
            KLUv/WBsAiUGAGLJISagtTn/////P/j4KV0jUqiVEgBSiOWSSW1VQ7LWvU0bgUQVw8hOAQ0jiSiBAuzHqlIUhTdnjOGwJInA\
            69fzelrkBl8DsTzxp9Vl3fP/ho6mKqGKschN/lHqyLph1hA378ZOFWNh/Oh8Ve13BGh2ocs+5Px5jmvGtYg9ZwMyBSwzGWTm\
            QGYmARcAIIMUnF4N2fhZK7DBlc6Cn6qrZKywBtE2gdCYJPEa32xp4BVEoWWxBwzjKSYspoHVTA0CFZlRUKA=""");
    private static final byte[] SECOND = Base64.getDecoder().decode("""
            KLUv/WB0AnUGAFIKJCeQp+n//////5+/vG1FRNrw996Y3fbSWunYzEz0GBEpdFa+O5/fDaVKjf8CSpW++B/wAyQIJG5DonQc\
            CMyxphAUrOcZ0MWLdTGu1UW4YJAwzYlEST7ImDcyOJQOUGrNeQnG/Wy3Vdq2UcfW6UNJIWNzP5YoJW87qExASXLzGAOXt8pz\
            ToNLPvxG/wXyP+J/ERcgUAJSCHcDMEAKo3pIi4zdFKh8tp/6KtkKq4m2A6EjSWIb31sarSBBS9jzMJ6ZEKa3mnkQKDKjIEAB""");

    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path folder;

    private Path index;
    private Path unpacked;

    @BeforeEach
    void write() throws IOException {
        index = folder.resolve("index.json");
        unpacked = folder.resolve("unpacked");
        write(INDEX, FIRST);
        Files.write(folder.resolve("shard.00001.mds.zstd"), SECOND);
    }

    private void write(String description, byte[] first) throws IOException {
        Files.writeString(index, description);
        Files.write(folder.resolve("shard.00000.mds.zstd"), first);
    }

    private RecordSource open() {
        return RecordFiles.mds(index, unpacked);
    }

    private List<Path> unpackedFiles() throws IOException {
        try (Stream<Path> files = Files.list(unpacked)) {
            return files.sorted().toList();
        }
    }

    /** Loads all samples, with their checksums. */
    private void assertIsWhole(RecordSource source) {
        try (RecordLoader loader =
                RecordLoader.builder(gds.driver(), source, 4).target(MemoryKind.HOST, 0).verify().open();
                RecordBatch batch = loader.next()) {
            assertThat(batch.count()).isEqualTo(4);
            for (int i = 0; i < 4; i++) {
                byte[] image = new byte[300];
                Arrays.fill(image, (byte) i);
                assertThat(part(batch, i, "image")).isEqualTo(image);
                assertThat(part(batch, i, "label")).isEqualTo(new byte[]{(byte) i, 0, 0, 0, 0, 0, 0, 0});
                assertThat(part(batch, i, "text")).asString(StandardCharsets.UTF_8).isEqualTo("ab".repeat(i));
            }
        }
    }

    private static byte[] part(RecordBatch batch, int record, String name) {
        return batch.part(record, name).orElseThrow().segment().orElseThrow().toArray(
                ValueLayout.JAVA_BYTE);
    }

    private void assertRefused(String message) throws IOException {
        assertThatThrownBy(this::open).isInstanceOf(RecordFormatException.class).hasMessageContaining(message)
                .message().doesNotContain("\n");
        assertThat(unpackedFiles()).as("what failed leaves nothing").isEmpty();
    }

    @Test
    void shardsAreUnpackedOnce() throws IOException {
        assertIsWhole(open());
        List<Path> files = unpackedFiles();
        assertThat(files).hasSize(2).allSatisfy(file -> assertThat(Files.getPosixFilePermissions(file))
                .isEqualTo(PosixFilePermissions.fromString("rw-------")));
        assertThat(Files.getPosixFilePermissions(unpacked)).isEqualTo(PosixFilePermissions.fromString("rwx------"));
        Object before = Files.getAttribute(files.getFirst(), "unix:ino");
        assertIsWhole(open());
        assertThat(unpackedFiles()).isEqualTo(files);
        assertThat(Files.getAttribute(files.getFirst(), "unix:ino")).isEqualTo(before);
    }

    @Test
    void changedShardIsUnpackedAnew() throws IOException {
        open();
        Path first = unpackedFiles().getFirst();
        Files.write(first, new byte[7]);
        assertIsWhole(open());
        Files.setAttribute(folder.resolve("shard.00000.mds.zstd"), "lastModifiedTime",
                FileTime.fromMillis(1));
        assertIsWhole(open());
        assertThat(unpackedFiles()).hasSize(3);
    }

    @Test
    void dataSetsShareAFolder(@TempDir Path other) throws IOException {
        open();
        Files.writeString(other.resolve("index.json"), INDEX);
        Files.write(other.resolve("shard.00000.mds.zstd"), FIRST);
        Files.write(other.resolve("shard.00001.mds.zstd"), SECOND);
        assertIsWhole(RecordFiles.mds(other.resolve("index.json"), unpacked));
        assertThat(unpackedFiles()).hasSize(4);
    }

    @Test
    void plainShardsNeedNoUnpacking() throws IOException {
        open();
        for (Path file : unpackedFiles()) {
            String name = file.getFileName().toString();
            Files.move(file, folder.resolve(name.substring(0, "shard.00000.mds".length())));
        }
        assertIsWhole(open());
        assertIsWhole(RecordFiles.open(List.of(index)));
        assertThat(unpackedFiles()).isEmpty();
    }

    @Test
    void damagedShardIsFoundOnRequest() throws IOException {
        RecordSource source = open();
        Path file = unpackedFiles().getFirst();
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1]++;
        Files.write(file, bytes);
        assertThatThrownBy(() -> assertIsWhole(source)).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("is damaged: its sha1 is ")
                .hasMessageContaining("its index says '48633fc5a35a3564515c82124990d26eb0c83032'");
        write(INDEX.replace("\"sha1\": ", "\"other\": "), FIRST);
        assertThatThrownBy(() -> assertIsWhole(open())).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("has a checksum by 'other', allowed where checksums are verified: sha1, sha256");
        write(INDEX.replace("\"sha1\"", "\"md5\""), FIRST);
        assertThatThrownBy(() -> assertIsWhole(open())).hasMessageContaining("is damaged: its md5 is ");
    }

    @Test
    void shardsOfOtherSizesAreRefused() throws IOException {
        write(INDEX.replace("\"bytes\": 876", "\"bytes\": 875"), FIRST);
        assertRefused("unpacks to more than the 875 bytes that its index says");
        write(INDEX.replace("\"bytes\": 876", "\"bytes\": 4294967295"), FIRST);
        assertRefused("unpacks to 876 bytes, its index says 4294967295");
        write(INDEX.replace("\"bytes\": 876", "\"bytes\": 4294967296"), FIRST);
        assertRefused("shard 0 unpacks to 4294967296 bytes, allowed: 0 to 4294967295");
        write(INDEX, Arrays.copyOf(FIRST, 205));
        assertRefused("the file has 205 bytes, its index says 206");
        write(INDEX.replace("\"bytes\": 206", "\"bytes\": 100"), Arrays.copyOf(FIRST, 100));
        assertRefused("cannot be unpacked: ");
        write(INDEX.replace("\"bytes\": 206", "\"bytes\": 209"), Arrays.copyOf(FIRST, 209));
        assertRefused("cannot be unpacked: ");
        byte[] bomb = Zstd.compress(new byte[64 << 20]);
        write(INDEX.replace("\"bytes\": 206", "\"bytes\": " + bomb.length), bomb);
        assertRefused("unpacks to more than the 876 bytes that its index says");
    }

    @Test
    void otherCompressionsAreRefused() throws IOException {
        assertThatThrownBy(() -> RecordFiles.open(List.of(index)))
                .hasMessageContaining("unpack it once by zstd -dc into 'shard.00000.mds', or name a folder for it:"
                        + " RecordFiles.mds, or --unpack of gds records");
        write(INDEX.replace("zstd:7", "gz:7"), FIRST);
        assertRefused(
                "is compressed by 'gz:7', allowed: a plain shard; unpack it once by gzip -dc into 'shard.00000.mds'");
    }

    @Test
    void linksLeadNowhere(@TempDir Path other) throws IOException {
        Path packed = folder.resolve("shard.00000.mds.zstd");
        Files.move(packed, other.resolve("s"));
        Files.createSymbolicLink(packed, other.resolve("s"));
        assertRefused("link not followed");
        assertIsWhole(RecordFiles.mds(index, unpacked, FileVisitOption.FOLLOW_LINKS));
        Files.createSymbolicLink(folder.resolve("link"), unpacked);
        assertThatThrownBy(() -> RecordFiles.mds(index, folder.resolve("link"))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("this is a link");
        Path file = unpackedFiles().getFirst();
        Files.delete(file);
        Path victim = Files.write(other.resolve("victim"), new byte[876]);
        Files.createSymbolicLink(file, victim);
        assertIsWhole(RecordFiles.mds(index, unpacked, FileVisitOption.FOLLOW_LINKS));
        assertThat(victim).hasBinaryContent(new byte[876]);
    }

    @Test
    void interruptEndsTheUnpacking() throws IOException {
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(this::open).isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(unpackedFiles()).isEmpty();
        assertIsWhole(open());
    }

    @Test
    void severalThreadsUnpackOneShard() throws IOException {
        List<CompletableFuture<RecordSource>> all =
                IntStream.range(0, 4).mapToObj(i -> CompletableFuture.supplyAsync(this::open)).toList();
        all.forEach(source -> assertIsWhole(source.join()));
        assertThat(unpackedFiles()).hasSize(2);
    }

    /** Loads gds-dataset again, without the library. */
    private static final class WithoutZstd extends ClassLoader {
        private final Map<String, Class<?>> own = new HashMap<>();

        WithoutZstd() {
            super(UnpackedShardsTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("com.github.luben.")) {
                throw new ClassNotFoundException(name);
            }
            if (!name.startsWith("io.gds4j.dataset.source.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (own) {
                Class<?> known = own.get(name);
                if (known == null) {
                    try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                        byte[] bytes = file.readAllBytes();
                        known = defineClass(name, bytes, 0, bytes.length);
                    } catch (IOException e) {
                        throw new ClassNotFoundException(name, e);
                    }
                    own.put(name, known);
                }
                return known;
            }
        }
    }

    @Test
    void absentLibraryIsNamed() throws ReflectiveOperationException, IOException {
        Class<?> files = new WithoutZstd().loadClass(RecordFiles.class.getName());
        var mds = files.getMethod("mds", Path.class, Path.class, FileVisitOption[].class);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> mds.invoke(null, index, unpacked, new FileVisitOption[0]))
                    .isInstanceOf(InvocationTargetException.class).cause()
                    .isInstanceOf(CuFileException.class).hasMessageContaining(
                            "is compressed by zstd, which needs the artifact com.github.luben:zstd-jni");
        }
        assertThat(unpackedFiles()).isEmpty();
    }

    @Test
    void mutatedFilesFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < Integer.getInteger("gds4j.property.mutants", 200); i++) {
            byte[] description = INDEX.getBytes(StandardCharsets.UTF_8);
            byte[] first = FIRST.clone();
            byte[] changed = random.nextInt(4) == 0 ? description : first;
            for (int n = random.nextInt(3); n >= 0; n--) {
                changed[random.nextInt(changed.length)] = (byte) random.nextInt();
            }
            write("", first);
            Files.write(index, description);
            try {
                RecordSource source = open();
                source.verifyFiles();
            } catch (RecordFormatException e) {
                assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
            }
            for (Path file : unpackedFiles()) {
                assertThat(Files.size(file)).as("seed %d", seed).isLessThan(10_000);
            }
        }
    }
}
