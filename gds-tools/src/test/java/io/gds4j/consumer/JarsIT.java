package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The jars describe the same modules and providers on the module path and on the class path. */
class JarsIT {
    private static final String SERVICES = "META-INF/services/";

    static List<Path> ownJars() throws IOException {
        return BuiltJars.own();
    }

    @Test
    void everyModuleHasOneJar() throws IOException {
        assertThat(BuiltJars.own())
                .extracting(jar -> descriptor(jar).name())
                .containsExactlyInAnyOrder("io.gds4j", "io.gds4j.ffi", "io.gds4j.engine", "io.gds4j.libcufile",
                        "io.gds4j.compat",
                        "io.gds4j.jcuda", "io.gds4j.loader", "io.gds4j.dataset", "io.gds4j.interop", "io.gds4j.rdma",
                        "io.gds4j.remote",
                        "io.gds4j.all");
    }

    @ParameterizedTest
    @MethodSource("ownJars")
    void jarDeclaresItsModule(Path jar) {
        assertThat(descriptor(jar).isAutomatic()).isFalse();
        assertThat(descriptor(jar).rawVersion()).isPresent();
    }

    @ParameterizedTest
    @MethodSource("ownJars")
    void providersAreInModuleDescriptorAndMetaInf(Path jar) throws IOException {
        Map<String, List<String>> provided = descriptor(jar).provides().stream()
                .collect(Collectors.toMap(ModuleDescriptor.Provides::service, ModuleDescriptor.Provides::providers));
        assertThat(servicesInMetaInf(jar)).isEqualTo(provided);
    }

    @ParameterizedTest
    @MethodSource("ownJars")
    void jarCarriesLicenceTitleAndVersion(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            assertThat(file.getEntry("META-INF/LICENSE")).isNotNull();
            assertThat(file.getEntry("META-INF/NOTICE")).isNotNull();
            Attributes manifest = file.getManifest().getMainAttributes();
            assertThat(jar.getFileName()).hasToString("%s-%s.jar".formatted(
                    manifest.getValue(Attributes.Name.IMPLEMENTATION_TITLE),
                    manifest.getValue(Attributes.Name.IMPLEMENTATION_VERSION)));
            assertThat(manifest.getValue("Build-Tool-Jdk-Spec")).as("whichever JDK runs Maven").isEqualTo("any");
        }
    }

    private static ModuleDescriptor descriptor(Path jar) {
        return ModuleFinder.of(jar).findAll().iterator().next().descriptor();
    }

    private static Map<String, List<String>> servicesInMetaInf(Path jar) throws IOException {
        Map<String, List<String>> services = new HashMap<>();
        try (JarFile file = new JarFile(jar.toFile())) {
            for (JarEntry entry : file.stream().filter(JarsIT::isService).toList()) {
                String text = new String(file.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8);
                services.put(
                        entry.getName().substring(SERVICES.length()),
                        text.lines().map(line -> line.replaceFirst("#.*", "").strip()).filter(line -> !line.isEmpty())
                                .toList());
            }
        }
        return services;
    }

    private static boolean isService(JarEntry entry) {
        return entry.getName().startsWith(SERVICES) && !entry.isDirectory();
    }
}
