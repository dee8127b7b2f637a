package io.gds4j.consumer;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.CRC32;

/** Makes executable jars out of jars, as the plugins of build tools do. */
final class JarMaker {
    private static final String SERVICES = "META-INF/services/";

    private JarMaker() {
    }

    /** Unpacks jars into one jar; the first of two files with the same name stays, service files are merged if asked. */
    static void shade(Path all, List<Path> jars, Map<String, String> manifest, boolean mergeServices)
            throws IOException {
        Set<String> seen = new HashSet<>(Set.of(JarFile.MANIFEST_NAME));
        Map<String, StringBuilder> services = new LinkedHashMap<>();
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(all), manifest(manifest))) {
            for (Path jar : jars) {
                try (JarFile in = new JarFile(jar.toFile())) {
                    for (JarEntry entry : in.stream().filter(one -> !one.getName().endsWith("module-info.class"))
                            .toList()) {
                        if (mergeServices && entry.getName().startsWith(SERVICES) && !entry.isDirectory()) {
                            String lines = new String(in.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8);
                            services.computeIfAbsent(entry.getName(), name -> new StringBuilder()).append(lines)
                                    .append('\n');
                        } else if (seen.add(entry.getName())) {
                            add(out, entry.getName(), in.getInputStream(entry));
                        }
                    }
                }
            }
            for (Map.Entry<String, StringBuilder> service : services.entrySet()) {
                add(out, service.getKey(), new ByteArrayInputStream(
                        service.getValue().toString().getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    /** Lays out a jar as Spring Boot's plugins do: its loader, the program's classes, and other jars, which are not compressed. */
    static void springBoot(Path all, Path loader, Path program, List<Path> jars, String mainClass) throws IOException {
        Map<String, String> manifest = Map.of(
                "Main-Class", "org.springframework.boot.loader.launch.JarLauncher",
                "Start-Class", mainClass,
                "Spring-Boot-Classes", "BOOT-INF/classes/",
                "Spring-Boot-Lib", "BOOT-INF/lib/",
                "Enable-Native-Access", "ALL-UNNAMED");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(all), manifest(manifest))) {
            try (JarFile in = new JarFile(loader.toFile())) {
                for (JarEntry entry : in.stream().filter(one -> one.getName().startsWith("org/")).toList()) {
                    add(out, entry.getName(), in.getInputStream(entry));
                }
            }
            out.putNextEntry(new JarEntry("BOOT-INF/"));
            out.putNextEntry(new JarEntry("BOOT-INF/classes/"));
            try (JarFile in = new JarFile(program.toFile())) {
                for (JarEntry entry : in.stream().filter(one -> one.getName().endsWith(".class")).toList()) {
                    add(out, "BOOT-INF/classes/" + entry.getName(), in.getInputStream(entry));
                }
            }
            out.putNextEntry(new JarEntry("BOOT-INF/lib/"));
            for (Path jar : jars) {
                addStored(out, "BOOT-INF/lib/" + jar.getFileName(), Files.readAllBytes(jar));
            }
        }
    }

    private static void add(JarOutputStream out, String name, InputStream content) throws IOException {
        out.putNextEntry(new JarEntry(name));
        content.transferTo(out);
        out.closeEntry();
    }

    private static void addStored(JarOutputStream out, String name, byte[] content) throws IOException {
        JarEntry entry = new JarEntry(name);
        CRC32 sum = new CRC32();
        sum.update(content);
        entry.setMethod(JarEntry.STORED);
        entry.setSize(content.length);
        entry.setCrc(sum.getValue());
        out.putNextEntry(entry);
        out.write(content);
        out.closeEntry();
    }

    private static Manifest manifest(Map<String, String> entries) {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        entries.forEach((name, value) -> manifest.getMainAttributes().putValue(name, value));
        return manifest;
    }
}
