package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.spi.CuFileBackendProvider;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Backends are found in jars that were packed together, and a broken service file gives one clear line. */
class BackendDiscoveryTest {
    private static final String SERVICE_FILE = "META-INF/services/io.gds4j.spi.CuFileBackendProvider";
    private static final String COMPAT = "io.gds4j.compat.CompatBackendProvider";
    private static final String LIBCUFILE = "io.gds4j.libcufile.LibCuFileBackendProvider";

    @RegisterExtension
    private final Logged log = Logged.by("io.gds4j");
    @TempDir
    Path folder;

    @Test
    void providerWithoutServiceFileIsFoundByName() throws Exception {
        assertThat(namesIn(jar(List.of(COMPAT, LIBCUFILE), COMPAT))).containsExactly("libcufile", "compat");
        assertThat(log.lines()).singleElement().asString()
                .contains(LIBCUFILE, SERVICE_FILE, "ServicesResourceTransformer", "mergeServiceFiles()")
                .doesNotContain(COMPAT);
    }

    @Test
    void providersAreFoundWithoutAnyServiceFile() throws Exception {
        assertThat(namesIn(jar(List.of(COMPAT, LIBCUFILE)))).containsExactly("libcufile", "compat");
        assertThat(log.lines()).hasSize(2);
    }

    @Test
    void mergedServiceFilesGiveNoWarning() throws Exception {
        assertThat(namesIn(jar(List.of(COMPAT, LIBCUFILE), COMPAT, LIBCUFILE)))
                .containsExactly("libcufile", "compat");
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void absentProviderIsNoFault() throws Exception {
        assertThat(namesIn(jar(List.of(COMPAT), COMPAT))).containsExactly("compat");
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void missingClassGivesOneLineWithTheRemedy() throws Exception {
        assertThat(namesIn(jar(List.of(COMPAT), "com.example.Missing", COMPAT))).containsExactly("compat");
        assertThat(log.lines()).singleElement().asString()
                .contains("com.example.Missing not found", "add the jar", "remove its line from " + SERVICE_FILE)
                .hasLineCount(1);
    }

    private static List<String> namesIn(Path jar) throws IOException {
        try (URLClassLoader loader = new URLClassLoader(new URL[]{jar.toUri().toURL()}, new ApiOnly())) {
            return Backends.providers(loader).stream().map(CuFileBackendProvider::name).toList();
        }
    }

    /** Makes a jar with these provider classes and a service file with these lines. */
    private Path jar(List<String> classes, String... lines) throws IOException {
        Path compiled = Files.createDirectory(folder.resolve("classes"));
        compile(compiled, classes);
        Path jar = folder.resolve("all.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                Stream<Path> files = Files.walk(compiled)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                out.putNextEntry(new JarEntry(compiled.relativize(file).toString()));
                Files.copy(file, out);
            }
            if (lines.length > 0) {
                out.putNextEntry(new JarEntry(SERVICE_FILE));
                out.write(String.join("\n", lines).getBytes());
            }
        }
        return jar;
    }

    private void compile(Path into, List<String> classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Path> sources = new ArrayList<>();
        for (String name : classes) {
            Path source = Files.createDirectories(folder.resolve("sources").resolve(roomOf(name)))
                    .resolve(simple(name) + ".java");
            Files.writeString(source, source(name));
            sources.add(source);
        }
        String api = CuFileBackendProvider.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        StringWriter messages = new StringWriter();
        List<String> options = List.of("-d", into.toString(), "-cp", api, "-proc:none");
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            boolean done = compiler.getTask(messages, files, null, options, null,
                    files.getJavaFileObjectsFromPaths(sources)).call();
            assertThat(done).as(messages::toString).isTrue();
        }
    }

    private static String source(String name) {
        return """
                package io.gds4j.%1$s;

                public class %2$s implements io.gds4j.spi.CuFileBackendProvider {
                    public String name() {
                        return "%1$s";
                    }

                    public int priority() {
                        return name().length();
                    }

                    public io.gds4j.spi.Availability probe(io.gds4j.config.CuFileConfig config) {
                        return new io.gds4j.spi.Availability.Available();
                    }

                    public io.gds4j.spi.CuFileBackend create(io.gds4j.config.CuFileConfig config) {
                        throw new UnsupportedOperationException();
                    }
                }
                """.formatted(roomOf(name), simple(name));
    }

    private static String roomOf(String name) {
        return name.split("\\.")[2];
    }

    private static String simple(String name) {
        return name.split("\\.")[3];
    }

    /** Shows the classes of the API, but no backend that happens to be on the class path of the tests. */
    private static final class ApiOnly extends ClassLoader {
        ApiOnly() {
            super(CuFileBackendProvider.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(COMPAT) || name.equals(LIBCUFILE)) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }

        @Override
        public Enumeration<URL> getResources(String name) throws IOException {
            return name.equals(SERVICE_FILE) ? Collections.emptyEnumeration() : super.getResources(name);
        }
    }
}
