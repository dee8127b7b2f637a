package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.sun.net.httpserver.HttpServer;
import io.gds4j.remote.AzureFiles;
import io.gds4j.remote.AzureOptions;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import java.lang.classfile.ClassFile;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ArchiveTrainingTest {
    @TempDir
    private Path folder;

    @Test
    void fileIsLoadedByHttp() throws Exception {
        HttpServer server = ArchiveTraining.serve(TestCheckpoints.odd(folder.resolve("model.safetensors")));

        GdsRun run = GdsRun.gds("load", ArchiveTraining.location(server), "-t", "host", "--json");
        server.stop(0);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("\"path\":\"http://127.0.0.1:", "\"USER_SOURCE\":");
    }

    @Test
    void fileIsAnObjectOfEachStore() throws Exception {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        HttpServer server = ArchiveTraining.serve(file);
        Map<String, String> variables = ArchiveTraining.stores(server);
        try {
            Path ofS3 = S3Files.path(URI.create(ArchiveTraining.S3), S3Options.fromEnvironment(variables));
            Path ofAzure = AzureFiles.path(URI.create(ArchiveTraining.AZURE), AzureOptions.fromEnvironment(variables));
            assertThat(List.of(Files.size(ofS3), Files.size(ofAzure))).containsOnly(Files.size(file));
        } finally {
            server.stop(0);
        }
    }

    @Test
    void classesOfOldLibrariesGetStackMaps() throws Exception {
        URI picocli = CommandLine.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path jar = Files.copy(Path.of(picocli), folder.resolve("picocli.jar"));

        ArchiveTraining.renew(jar);

        try (URLClassLoader loader = new URLClassLoader(new URL[]{jar.toUri().toURL()}, null);
                ZipFile file = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : Collections.list(file.entries())) {
                if (entry.getName().startsWith("picocli/") && entry.getName().endsWith(".class")) {
                    byte[] content = file.getInputStream(entry).readAllBytes();
                    assertThat(ClassFile.of().parse(content).majorVersion()).isEqualTo(ClassFile.JAVA_8_VERSION);
                    String name = entry.getName().replace('/', '.').replaceFirst("[.]class$", "");
                    assertThatCode(() -> Class.forName(name, true, loader)).as("the JVM verifies it")
                            .doesNotThrowAnyException();
                }
            }
            assertThat(loader.getResourceAsStream("META-INF/MANIFEST.MF")).isNotNull();
        }
    }

    @Test
    void libraryOfTodayIsLeftAsItIs() throws Exception {
        URI location = Assertions.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path jar = Files.copy(Path.of(location), folder.resolve("assertj.jar"));

        ArchiveTraining.renew(jar);

        assertThat(Files.mismatch(jar, Path.of(location))).isEqualTo(-1);
    }

    @Test
    void checkpointOfPytorchIsThere() {
        GdsRun run = GdsRun.gds("load", Path.of("target").resolve(ArchiveTraining.DISTCP).toString(), "-t", "host",
                "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("\"format\":\"distcp\"");
    }
}
