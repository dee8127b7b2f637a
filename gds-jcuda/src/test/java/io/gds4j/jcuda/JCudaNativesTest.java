package io.gds4j.jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import jcuda.JCudaVersion;
import jcuda.LibUtils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** gds4j unpacks JCuda's library to a private folder, and loads it from there or refuses it with one line. */
@Tag("slow")
class JCudaNativesTest {
    private static final ClassLoader CLASSES = JCudaNativesTest.class.getClassLoader();

    @TempDir
    Path folder;

    private static String resource() {
        String name = LibUtils.createPlatformLibraryName("JCudaDriver-" + JCudaVersion.get());
        return "lib/" + LibUtils.createLibraryFileName(name);
    }

    private List<String> left() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(Path::toString).toList();
        }
    }

    @Test
    void libraryIsCompleteAndPrivate() throws IOException {
        try (UnpackedLibrary unpacked = UnpackedLibrary.of(CLASSES, resource(), folder).orElseThrow();
                InputStream original = CLASSES.getResourceAsStream(resource())) {
            assertThat(unpacked.file()).hasBinaryContent(original.readAllBytes());
            assertThat(unpacked.file()).hasFileName(Path.of(resource()).getFileName().toString());
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(unpacked.folder())))
                    .isEqualTo("rwx------");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(unpacked.file())))
                    .doesNotContain("w");
        }
        assertThat(left()).isEmpty();
    }

    @Test
    void eachUnpackingHasAFolderOfItsOwn() throws IOException {
        try (UnpackedLibrary one = UnpackedLibrary.of(CLASSES, resource(), folder).orElseThrow();
                UnpackedLibrary two = UnpackedLibrary.of(CLASSES, resource(), folder).orElseThrow()) {
            assertThat(one.folder()).isNotEqualTo(two.folder());
        }
    }

    @Test
    void missingResourceOrFolderLeavesNothing() throws IOException {
        assertThat(UnpackedLibrary.of(CLASSES, "lib/none.so", folder)).isEmpty();
        assertThatThrownBy(() -> UnpackedLibrary.of(CLASSES, resource(), folder.resolve("none")))
                .isInstanceOf(IOException.class);
        assertThat(left()).isEmpty();
    }

    @Test
    void withoutADriverNoClassOfJCudaIsInitialised() throws Exception {
        Result child = child("none", folder);
        assertThat(child.output()).contains("CUDA_DRIVER_ERROR", "there is no driver", "install one");
        assertThat(child.status()).isZero();
        assertThat(left()).isEmpty(); // an initialised JCudaDriver would have left its library here
    }

    /** On a machine without a driver JCuda's library does not load; that, too, must end in one line and not in a crash. */
    @Test
    void manyJvmsStartAtOnceInACleanDirectoryAndLeaveNothing() throws Exception {
        boolean driver = DynamicLoader.open("libcuda.so.1") instanceof DynamicLoader.Loaded;
        List<Process> children = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            children.add(start("claimed", folder));
        }
        for (Process process : children) {
            Result child = finish(process);
            assertThat(child.status()).as(child.output()).isZero();
            assertThat(child.output()).contains(driver ? "loaded" : "libcuda.so.1: cannot open shared object file");
        }
        assertThat(left()).isEmpty();
    }

    /** Another user has put a file where JCuda itself would look. */
    @Test
    void plantedLibraryIsNotLoaded() throws Exception {
        Path planted = folder.resolve(Path.of(resource()).getFileName());
        Files.writeString(planted, "not what you want to load");
        Result child = child("claimed", folder);
        assertThat(child.status()).as(child.output()).isZero();
        assertThat(child.output()).doesNotContain("file too short").doesNotContain("invalid ELF");
        assertThat(left()).containsExactly(planted.toString());
    }

    @Test
    void unwritableDirectoryIsNamed() {
        assumeTrue(!Files.exists(Path.of("/none")));
        String before = System.setProperty("java.io.tmpdir", "/none");
        try {
            CuFileException failure = catchThrowableOfType(
                    CuFileException.class,
                    () -> JCudaNatives.load("test", JCudaChild.claimed(), "JCudaRuntime", "jcuda.runtime.JCuda"));
            assertThat(failure.error()).isEqualTo(CuFileError.PLATFORM_NOT_SUPPORTED);
            assertThat(failure).hasMessageContaining("/none").hasMessageContaining("java.io.tmpdir");
            assertThat(System.getProperty("java.io.tmpdir")).isEqualTo("/none");
        } finally {
            System.setProperty("java.io.tmpdir", before);
        }
    }

    @Test
    void platformWithoutJCudasLibraryIsToldWhatToAdd() {
        CuFileException failure = catchThrowableOfType(
                CuFileException.class,
                () -> JCudaNatives.load("test", JCudaChild.claimed(), "JCudaOther", "jcuda.runtime.JCuda"));
        assertThat(failure.error()).isEqualTo(CuFileError.PLATFORM_NOT_SUPPORTED);
        assertThat(failure).hasMessageContaining("libJCudaOther")
                .hasMessageContaining("org.jcuda:jcuda-natives:12.6.0");
    }

    @Test
    void reasonIsTheLastHeadingOfJCudasTraces() {
        UnsatisfiedLinkError error =
                new UnsatisfiedLinkError("Error while loading\njava.lang.UnsatisfiedLinkError: no x\n"
                        + "  at y\njava.lang.UnsatisfiedLinkError: /a/b.so: libcuda.so.1: cannot open\n  at z\n");
        assertThat(JCudaNatives.reason(error)).isEqualTo("/a/b.so: libcuda.so.1: cannot open");
        assertThat(JCudaNatives.reason(new NoClassDefFoundError("x"))).contains("NoClassDefFoundError");
    }

    @Test
    void refusalsCarryReasonAndRemedy() {
        CudaAvailability none = new CudaAvailability.Unavailable("no driver", "install it");
        assertThatThrownBy(() -> JCudaNatives.requireDriver("f", none)).hasMessageContaining("no driver; install it");
    }

    private record Result(int status, String output) {
    }

    private static Result child(String driver, Path temporary) throws Exception {
        return finish(start(driver, temporary));
    }

    private static Process start(String driver, Path temporary) throws IOException {
        return new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--illegal-native-access=deny",
                "-Xmx64m",
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                JCudaChild.class.getName(),
                driver)
                .redirectErrorStream(true)
                .start();
    }

    private static Result finish(Process process) throws Exception {
        String output = new String(process.getInputStream().readAllBytes());
        return new Result(process.waitFor(), output);
    }
}
