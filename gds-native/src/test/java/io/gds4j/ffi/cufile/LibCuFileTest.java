package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Finds the library below a temporary root. */
class LibCuFileTest {
    @TempDir
    private Path root;

    private LibCuFile.Location look(Map<String, String> environment) {
        return new LibCuFile(root, environment, Optional.empty()).look();
    }

    /** Installs a library under its full name, and the link that loads it. */
    private Path install(String folder, String version) throws IOException {
        Path at = Files.createDirectories(root.resolve(folder.substring(1)));
        Path real = Files.createFile(at.resolve("libcufile.so." + version));
        return Files.createSymbolicLink(at.resolve("libcufile.so.0"), real.getFileName());
    }

    private static LibCuFile.Found found(LibCuFile.Location location) {
        assertThat(location).isInstanceOf(LibCuFile.Found.class);
        return (LibCuFile.Found) location;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                    "/usr/local/cuda/lib64",
                    "/usr/local/cuda-13.0/lib64",
                    "/usr/lib64",
                    "/usr/lib"
            })
    void usualFoldersAreSearched(String folder) throws IOException {
        Path library = install(folder, "1.15.1");

        LibCuFile.Found found = found(look(Map.of()));

        assertThat(found.path()).isEqualTo(library);
        assertThat(found.version()).contains("1.15.1");
        assertThat(found.describe()).isEqualTo("libcufile 1.15.1 (" + library + ")");
    }

    @Test
    void unreadableProcModulesIsAnObstacle() throws IOException {
        assertThat(LibCuFile.obstacle(root)).hasValueSatisfying(why -> assertThat(why).contains("/proc/modules"));
        Files.createFile(Files.createDirectories(root.resolve("proc")).resolve("modules"));
        assertThat(LibCuFile.obstacle(root)).isEmpty();
    }

    @Test
    void newestToolkitWins() throws IOException {
        install("/usr/local/cuda-9.2/lib64", "1.0.0");
        Path newest = install("/usr/local/cuda-13.1/lib64", "1.16.0");
        install("/usr/local/cuda-12.9/lib64", "1.14.0");

        assertThat(found(look(Map.of())).path()).isEqualTo(newest);
    }

    @Test
    void foldersOfTheEnvironmentComeFirst() throws IOException {
        install("/usr/lib64", "1.15.1");
        Path toolkit = install("/opt/toolkit/lib64", "1.16.0");
        Path named = install("/opt/own", "1.17.0");

        assertThat(found(look(Map.of("CUDA_HOME", "/opt/toolkit"))).path()).isEqualTo(toolkit);
        assertThat(found(look(Map.of("CUDA_HOME", "/opt/toolkit", "LD_LIBRARY_PATH", "relative:/none:/opt/own")))
                .path())
                .isEqualTo(named);
    }

    @Test
    void foldersOfTheDynamicLinkerAreSearched() throws IOException {
        Path library = install("/opt/gds/lib", "1.15.1");
        Files.createDirectories(root.resolve("etc/ld.so.conf.d"));
        Files.writeString(root.resolve("etc/ld.so.conf"), "# all of them\ninclude /etc/ld.so.conf.d/*.conf\n");
        Files.writeString(root.resolve("etc/ld.so.conf.d/gds.conf"), "/none\n/opt/gds/lib # NVIDIA\n");

        assertThat(found(look(Map.of())).path()).isEqualTo(library);
    }

    @Test
    void missingLibraryNamesEveryPlace() {
        assertThat(look(Map.of("LD_LIBRARY_PATH", "/opt/own")))
                .isInstanceOfSatisfying(LibCuFile.NotFound.class, none -> assertThat(none.reason())
                        .startsWith("libcufile not found, looked in /opt/own, ")
                        .contains("/usr/lib64", "/usr/local/cuda/lib64"));
    }

    @Test
    void propertyReplacesTheSearch() throws IOException {
        install("/usr/lib64", "1.15.1");
        Path library = install("/opt/own", "1.16.0");

        for (Path named : new Path[]{library, library.getParent()}) {
            LibCuFile.Location location =
                    new LibCuFile(root, Map.of(), Optional.of(named.toString())).look();
            assertThat(found(location).path()).isEqualTo(library);
        }
        assertThat(new LibCuFile(root, Map.of(), Optional.of("/none/libcufile.so")).look())
                .isInstanceOfSatisfying(
                        LibCuFile.NotFound.class,
                        none -> assertThat(none.reason())
                                .isEqualTo("libcufile not found, looked in /none/libcufile.so, which"
                                        + " gds4j.libcufile names"));
    }

    @Test
    void libraryUnderAnOddNameHasNoVersion() throws IOException {
        Path folder = Files.createDirectories(root.resolve("usr/lib64"));
        Files.createFile(folder.resolve("libcufile.so.0"));

        assertThat(found(look(Map.of())).version()).isEmpty();
    }
}
