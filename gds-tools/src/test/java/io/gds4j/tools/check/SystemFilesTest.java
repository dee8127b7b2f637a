package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.machine.SystemFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of files under /proc, /sys and /usr, on a folder that replaces the root of the file system. */
class SystemFilesTest {
    @TempDir
    private Path root;

    private SystemFiles files;

    @BeforeEach
    void machine() {
        files = new SystemFiles(root);
    }

    private Path write(String absolute, String text) throws IOException {
        Path path = files.at(absolute);
        Files.createDirectories(path.getParent());
        return Files.writeString(path, text);
    }

    @Test
    void libraryIsFoundInLinkerFoldersWithItsVersion() throws IOException {
        write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
        write("/etc/ld.so.conf.d/cuda.conf", "# a comment\n/opt/cuda/lib\n");
        write("/opt/cuda/lib/libcufile.so.1.15.1", "");
        Files.createSymbolicLink(files.at("/opt/cuda/lib/libcufile.so.0"), Path.of("libcufile.so.1.15.1"));

        LibCuFile library = LibCuFile.find(files, Map.of());

        assertThat(library.version()).contains("1.15.1");
        assertThat(library.path()).contains(files.at("/opt/cuda/lib/libcufile.so.0"));
        assertThat(library.describe()).startsWith("1.15.1 (");
    }

    @Test
    void linkerVariableTakesPrecedence() throws IOException {
        write("/usr/lib64/libcufile.so.0", "");
        write("/home/me/lib/libcufile.so.0", "");

        LibCuFile library = LibCuFile.find(files, Map.of("LD_LIBRARY_PATH", "relative:/home/me/lib"));

        assertThat(library.path()).contains(files.at("/home/me/lib/libcufile.so.0"));
        assertThat(library.version()).isEmpty();
    }

    @Test
    void missingLibraryNamesTheSearchedFolders() throws IOException {
        Files.createDirectories(files.at("/usr/local/cuda-12.9"));
        Files.createDirectories(files.at("/usr/local/cuda-13.0"));

        LibCuFile library = LibCuFile.find(files, Map.of());

        assertThat(library.path()).isEmpty();
        assertThat(library.describe()).isEqualTo("not found");
        assertThat(library.searched())
                .containsSubsequence("/usr/local/cuda/lib64", "/usr/local/cuda-13.0/lib64",
                        "/usr/local/cuda-12.9/lib64");
    }

    @Test
    void versionsOfKernelModulesAreRead() throws IOException {
        write(
                "/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@x)  Mon\nGCC version: 12\n");
        write("/proc/driver/nvidia-fs/version", "version: 2.28\n");
        write("/proc/driver/nvidia/params",
                "Foo: 1\nRegistryDwords: \"RMForceStaticBar1=1;RmForceDisableIomapWC=1\"\n");

        KernelModules modules = KernelModules.read(files);

        assertThat(modules.nvidia()).contains("580.82.07");
        assertThat(modules.nvidiaFs()).contains("2.28");
        assertThat(modules.staticBar1()).contains(true);
    }

    @Test
    void missingKernelModulesAreAbsent() throws IOException {
        assertThat(KernelModules.read(files))
                .isEqualTo(
                        new KernelModules(
                                Optional.empty(), Optional.empty(), Optional.empty()));
        Files.createDirectories(files.at("/sys/module/nvidia_fs"));
        assertThat(KernelModules.read(files).nvidiaFs()).contains("loaded");
    }

    @Test
    void driverVersionIsMajorDotMinor() {
        assertThat(CheckReport.version(13_000)).isEqualTo("13.0");
        assertThat(CheckReport.version(12_080)).isEqualTo("12.8");
    }
}
