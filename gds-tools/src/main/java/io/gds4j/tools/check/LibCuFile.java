package io.gds4j.tools.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether NVIDIA's library is on this machine. It is looked for, never loaded: opening it costs time and may start its
 * logging.
 *
 * @param path the library, if it was found
 * @param version what its file name says, such as {@code 1.15.1}
 * @param searched folders that were looked into, in order
 */
public record LibCuFile(Optional<Path> path, Optional<String> version, List<String> searched) {

    /** The only name that NVIDIA ever gave it. */
    static final String FILE_NAME = "libcufile.so.0";

    private static final Pattern FULL_NAME = Pattern.compile("libcufile\\.so\\.(\\d+\\.\\d+(\\.\\d+)*)");
    private static final Pattern INCLUDE = Pattern.compile("include\\s+(/\\S+)/([^/\\s]+)");

    /** Looks where the dynamic linker would, and where CUDA's packages put it. */
    public static LibCuFile find(SystemFiles files, Map<String, String> environment) {
        Set<String> folders = folders(files, environment);
        for (String folder : folders) {
            Path candidate = files.at(folder).resolve(FILE_NAME);
            if (Files.isRegularFile(candidate)) {
                return new LibCuFile(Optional.of(candidate), version(candidate), List.copyOf(folders));
            }
        }
        return new LibCuFile(Optional.empty(), Optional.empty(), List.copyOf(folders));
    }

    /** In a few words. */
    public String describe() {
        return path.map(file -> "%s (%s)".formatted(version.orElse("version unknown"), file)).orElse("not found");
    }

    private static Set<String> folders(SystemFiles files, Map<String, String> environment) {
        Set<String> folders = new LinkedHashSet<>();
        for (String folder : environment.getOrDefault("LD_LIBRARY_PATH", "").split("[:;]")) {
            if (folder.startsWith("/")) {
                folders.add(folder);
            }
        }
        addConfigured(files, "/etc/ld.so.conf", folders, 0);
        String architecture = System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64";
        folders.add("/usr/lib/" + architecture + "-linux-gnu");
        folders.add("/usr/lib64");
        folders.add("/usr/lib");
        folders.add("/usr/local/cuda/lib64");
        List<String> versions = new ArrayList<>(files.entries("/usr/local", "cuda-*"));
        versions.reversed().forEach(cuda -> folders.add(cuda + "/lib64"));
        return folders;
    }

    private static void addConfigured(SystemFiles files, String configuration, Set<String> folders, int depth) {
        for (String line : files.lines(configuration)) {
            String text = line.replaceFirst("#.*", "").strip();
            Matcher include = INCLUDE.matcher(text);
            if (include.matches() && depth == 0) {
                for (String part : files.entries(include.group(1), include.group(2))) {
                    addConfigured(files, part, folders, depth + 1);
                }
            } else if (text.startsWith("/")) {
                folders.add(text);
            }
        }
    }

    private static Optional<String> version(Path library) {
        try {
            Matcher name = FULL_NAME.matcher(library.toRealPath().getFileName().toString());
            return name.matches() ? Optional.of(name.group(1)) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
