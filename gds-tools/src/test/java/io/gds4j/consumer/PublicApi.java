package io.gds4j.consumer;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What programs may use: public classes of the packages that a module exports to all, with their members, as javap prints them. */
final class PublicApi {
    private static final String CLASS = ".class";

    private PublicApi() {
    }

    /** Returns the sorted lines of each module on the class path of the tests that exports a package to all. */
    static Map<String, Set<String>> ofTheClassPath() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            String file = Path.of(entry).getFileName().toString();
            if (file.matches("gds-\\w+(-\\w+)?-\\d.*(?<!-tests)\\.jar") && !file.startsWith("gds-testkit-contract")) {
                Path jar = Path.of(entry);
                ModuleDescriptor module = ModuleFinder.of(jar).findAll().iterator().next().descriptor();
                List<String> classes = exported(jar, module);
                if (!classes.isEmpty()) {
                    found.put(module.name(), lines(jar, classes));
                }
            }
        }
        return found;
    }

    private static List<String> exported(Path jar, ModuleDescriptor module) throws IOException {
        Set<String> folders = module.exports().stream()
                .filter(export -> !export.isQualified())
                .map(export -> export.source().replace('.', '/'))
                .collect(Collectors.toSet());
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream()
                    .map(JarEntry::getName)
                    .filter(name -> name.endsWith(CLASS) && !name.endsWith("package-info.class"))
                    .filter(name -> folders.contains(name.substring(0, Math.max(0, name.lastIndexOf('/')))))
                    .map(name -> name.substring(0, name.length() - CLASS.length()).replace('/', '.'))
                    .sorted()
                    .toList();
        }
    }

    private static Set<String> lines(Path jar, List<String> classes) {
        StringWriter out = new StringWriter();
        PrintWriter writer = new PrintWriter(out);
        List<String> arguments = new ArrayList<>(List.of("-protected", "-cp", jar.toString()));
        arguments.addAll(classes);
        int status =
                ToolProvider.findFirst("javap").orElseThrow().run(writer, writer, arguments.toArray(String[]::new));
        if (status != 0) {
            throw new AssertionError("javap failed: " + out);
        }
        Set<String> lines = new TreeSet<>();
        String type = "";
        for (String line : out.toString().lines().toList()) {
            if (line.startsWith("  ") && !type.isEmpty()) {
                lines.add(type + ": " + line.strip().replaceFirst(";$", ""));
            } else if (line.endsWith("{")) {
                String declared = Stream.of(line.split("[ <]")).filter(word -> word.startsWith("io.gds4j")).findFirst()
                        .orElseThrow();
                type = line.startsWith("public ") ? declared : "";
                if (!type.isEmpty()) {
                    lines.add(type + " is " + line.substring(0, line.length() - 2));
                }
            }
        }
        return lines;
    }
}
