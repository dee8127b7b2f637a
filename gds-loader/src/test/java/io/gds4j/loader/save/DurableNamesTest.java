package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixRequest;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A save that has returned is there after a power cut. The model of the disk loses each name that is in a folder which nothing has
 * forced since: journals of real file systems force it with others.
 */
class DurableNamesTest {
    private static final long SEED = 7;

    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final FileCalls calls = new SystemFileCalls(() -> posix);
    private final Set<Path> losable = ConcurrentHashMap.newKeySet();

    @TempDir
    private Path root;

    /** Who saves. */
    private enum Saver {
        ONE_FILE, SHARDS, RANKS
    }

    @BeforeEach
    void watch() {
        for (PosixCall call : new PosixCall[]{PosixCall.MKDIR, PosixCall.LINK, PosixCall.OPEN}) {
            posix.on(call).when(request -> {
                boolean makes = call != PosixCall.OPEN || (request.flags() & PosixConstants.O_CREAT) != 0;
                if (makes && Files.notExists(Path.of(request.path()))) {
                    losable.add(real(Path.of(request.path())));
                }
                return false;
            }).runsFirst(DurableNamesTest::nothing);
        }
        watch(PosixCall.RENAME, request -> losable.add(real(Path.of(request.path()))));
        watch(PosixCall.FSYNC, request -> {
            Path forced = real(Path.of(request.path()));
            losable.removeIf(name -> Objects.equals(name.getParent(), forced));
        });
    }

    /** Returns the name behind that of a descriptor: a save calls files by the folder that it has opened. */
    private static Path real(Path path) {
        try {
            if (Files.exists(path)) {
                return path.toRealPath();
            }
            Path parent = path.getParent();
            return Files.exists(parent) ? parent.toRealPath().resolve(path.getFileName()) : path;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void watch(PosixCall call, Consumer<PosixRequest> noted) {
        posix.on(call).when(request -> {
            noted.accept(request);
            return false;
        }).runsFirst(DurableNamesTest::nothing);
    }

    private static void nothing() {
        // the fault only looks on
    }

    @ParameterizedTest
    @EnumSource(Saver.class)
    void powerCutBehindASaveLosesNothingOfNewFolders(Saver saver) {
        Path folder = root.resolve("a/b/c");
        save(saver, folder);
        assertThat(posix.calls(PosixCall.MKDIR)).isGreaterThanOrEqualTo(3);
        losable.forEach(DurableNamesTest::remove);
        assertThat(folder).exists();
        assertThat(Tensors.seedOf(folder, SEED)).isEqualTo(SEED);
    }

    private void save(Saver saver, Path folder) {
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
                Tensors tensors = Tensors.small(driver, SEED)) {
            SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(saver == Saver.SHARDS ? 100_000 : 1L << 30);
            switch (saver) {
                case ONE_FILE, SHARDS -> tensors.plan().options(options).toFolder(folder)
                        .start(driver, SaveListener.NONE, calls).await();
                case RANKS -> {
                    try (ShardedSave save = ShardedSave.begin(folder, OptionalLong.of(1), calls)) {
                        tensors.plan().toFile(save.part(0)).save(driver);
                        save.commit(1, Duration.ZERO);
                    }
                }
            }
        }
    }

    private static void remove(Path tree) {
        if (Files.notExists(tree)) {
            return;
        }
        try (Stream<Path> all = Files.walk(tree)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
