package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jars of two releases on one class path are named before a driver opens. */
class ReleasesTest {
    private static final String API = "io/gds4j/CuFileDriver.class";
    private static final String COMPAT = "io/gds4j/compat/CompatBackendProvider.class";

    @TempDir
    private Path folder;

    private Path jar(String title, String version, String... classes) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_TITLE, title);
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        Path jar = folder.resolve(title + "-" + version + ".jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            for (String name : classes) {
                out.putNextEntry(new JarEntry(name));
            }
        }
        return jar;
    }

    private static Optional<String> conflict(Path... jars) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (Path jar : jars) {
            urls.add(jar.toUri().toURL());
        }
        try (URLClassLoader loader =
                new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            return Releases.conflict(loader);
        }
    }

    @Test
    void modulesOfTwoReleasesAreNamedWithTheRemedy() throws IOException {
        assertThat(conflict(jar("gds-api", "0.2.0", API), jar("gds-compat", "0.1.0", COMPAT))).contains(
                "jars of 2 releases of gds4j are on the class path: 0.1.0 (gds-compat-0.1.0.jar),"
                        + " 0.2.0 (gds-api-0.2.0.jar); keep one release of all modules, for example by importing"
                        + " io.gds4j:gds-bom");
    }

    @Test
    void oneModuleInTwoReleasesIsNamed() throws IOException {
        assertThat(conflict(jar("gds-api", "0.2.0", API), jar("gds-api", "0.1.0", API)).orElseThrow())
                .contains("0.1.0 (gds-api-0.1.0.jar)", "0.2.0 (gds-api-0.2.0.jar)").hasLineCount(1);
    }

    @Test
    void oneReleaseAndJarsThatOthersPackedAreNoConflict() throws IOException {
        assertThat(conflict(jar("gds-api", "0.1.0", API), jar("gds-compat", "0.1.0", COMPAT))).isEmpty();
        assertThat(conflict(jar("gds-api", "0.1.0", API), jar("shop", "7", API, COMPAT))).isEmpty();
        assertThat(Releases.conflict()).as("this test's own class path").isEmpty();
    }
}
