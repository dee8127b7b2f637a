package io.gds4j.ffi.cufile;

import io.gds4j.ffi.DynamicLoader;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds NVIDIA's library. {@link #locate()} only looks: loading the library starts its log file. */
public final class LibCuFile {
    /** System property that names the library. */
    public static final String PROPERTY = "gds4j.libcufile";

    /** The library's name in all versions. */
    public static final String FILE_NAME = "libcufile.so.0";

    private static final Pattern FULL_NAME = Pattern.compile("libcufile\\.so\\.(\\d+\\.\\d+(?:\\.\\d+)*)");
    private static final Pattern INCLUDE = Pattern.compile("include\\s+(/\\S+)/([^/\\s]+)");
    private static final String ARCHITECTURE =
            System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64";
    /** CUDA's name for servers of that architecture. */
    private static final String TARGET = ARCHITECTURE.equals("aarch64") ? "sbsa-linux" : "x86_64-linux";

    /** The result of looking. */
    public sealed interface Location {
    }

    /**
     * The library was found.
     *
     * @param path the library
     * @param version version in its file name, such as {@code 1.15.1}
     */
    public record Found(Path path, Optional<String> version) implements Location {
        /** Such as {@code libcufile 1.15.1 (/usr/local/cuda/lib64/libcufile.so.0)}. */
        public String describe() {
            return "libcufile %s (%s)".formatted(version.orElse("of unknown version"), path);
        }
    }

    /**
     * The library was not found.
     *
     * @param reason {@code libcufile not found, looked in ...}
     */
    public record NotFound(String reason) implements Location {
    }

    /**
     * The result of looking, and where.
     *
     * @param folders in order; the library itself if {@value #PROPERTY} names it
     */
    public record Search(Location location, List<String> folders) {
        /** Keeps a copy of the folders. */
        public Search {
            folders = List.copyOf(folders);
        }
    }

    private final Path root;
    private final Map<String, String> environment;
    private final Optional<String> property;

    LibCuFile(Path root, Map<String, String> environment, Optional<String> property) {
        this.root = root;
        this.environment = environment;
        this.property = property;
    }

    /**
     * Looks at the path of {@value #PROPERTY}, and only there if it is set. Otherwise looks in LD_LIBRARY_PATH,
     * CUDA_HOME and CUDA_PATH, the folders of the dynamic linker, and CUDA's below /usr/local, the newest first.
     */
    public static Location locate() {
        return new LibCuFile(Path.of("/"), System.getenv(), Optional.ofNullable(System.getProperty(PROPERTY))).look();
    }

    /**
     * As {@link #locate}, below another root and with another environment.
     *
     * @param root where absolute paths begin
     * @param environment variables
     */
    public static Search search(Path root, Map<String, String> environment) {
        return new LibCuFile(root, environment, Optional.ofNullable(System.getProperty(PROPERTY))).search();
    }

    /**
     * The reason why no copy of the library is usable. Opening it reads {@code /proc/modules} to the end, and
     * never ends if that file cannot be opened.
     */
    public static Optional<String> obstacle() {
        return obstacle(Path.of("/"));
    }

    public static Optional<String> obstacle(Path root) {
        return Files.isReadable(root.resolve("proc/modules"))
                ? Optional.empty()
                : Optional.of("/proc/modules cannot be read, and libcufile would never end opening");
    }

    private Search search() {
        return new Search(look(), property.isPresent() ? List.of(property.get()) : List.copyOf(folders()));
    }

    Location look() {
        if (property.isPresent()) {
            return named(property.get());
        }
        Set<String> folders = folders();
        for (String folder : folders) {
            Optional<Path> library = at(folder).map(path -> path.resolve(FILE_NAME)).filter(Files::isRegularFile);
            if (library.isPresent()) {
                return new Found(library.get(), version(library.get()));
            }
        }
        return new NotFound("libcufile not found, looked in " + String.join(", ", folders));
    }

    private Location named(String text) {
        Optional<Path> path = toPath(text).map(given -> Files.isDirectory(given) ? given.resolve(FILE_NAME) : given);
        if (path.isPresent() && Files.isRegularFile(path.get())) {
            return new Found(path.get(), version(path.get()));
        }
        return new NotFound("libcufile not found, looked in %s, which %s names".formatted(text, PROPERTY));
    }

    /** Loads the library for the rest of the process. The result has the dynamic linker's reason if that fails. */
    public static DynamicLoader.Result load(Found found) {
        return DynamicLoader.open(found.path().toString());
    }

    private Set<String> folders() {
        Set<String> folders = new LinkedHashSet<>();
        for (String folder : environment.getOrDefault("LD_LIBRARY_PATH", "").split("[:;]")) {
            if (folder.startsWith("/")) {
                folders.add(folder);
            }
        }
        for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
            String home = environment.getOrDefault(variable, "");
            if (home.startsWith("/")) {
                addToolkit(folders, home);
            }
        }
        addConfigured("/etc/ld.so.conf", folders, 0);
        folders.add("/lib/" + ARCHITECTURE + "-linux-gnu");
        folders.add("/usr/lib/" + ARCHITECTURE + "-linux-gnu");
        folders.add("/usr/lib64");
        folders.add("/usr/lib");
        addToolkit(folders, "/usr/local/cuda");
        List<String> versions = new ArrayList<>(entries("/usr/local", "cuda-*"));
        versions.sort(LibCuFile::newestFirst);
        versions.forEach(home -> addToolkit(folders, home));
        return folders;
    }

    private static void addToolkit(Set<String> folders, String home) {
        folders.add(home + "/lib64");
        folders.add(home + "/targets/" + TARGET + "/lib");
    }

    private static int newestFirst(String one, String other) {
        List<Integer> a = numbers(one);
        List<Integer> b = numbers(other);
        for (int i = 0; i < Math.min(a.size(), b.size()); i++) {
            int order = b.get(i).compareTo(a.get(i));
            if (order != 0) {
                return order;
            }
        }
        return b.size() - a.size();
    }

    private static List<Integer> numbers(String text) {
        return Pattern.compile("\\d{1,6}").matcher(text).results().map(found -> Integer.valueOf(found.group()))
                .toList();
    }

    private void addConfigured(String configuration, Set<String> folders, int depth) {
        for (String line : lines(configuration)) {
            String text = line.replaceFirst("#.*", "").strip();
            Matcher include = INCLUDE.matcher(text);
            if (include.matches() && depth == 0) {
                for (String part : entries(include.group(1), include.group(2))) {
                    addConfigured(part, folders, depth + 1);
                }
            } else if (text.startsWith("/")) {
                folders.add(text);
            }
        }
    }

    private List<String> lines(String file) {
        try {
            return at(file).isPresent() ? Files.readAllLines(at(file).get()) : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }

    private List<String> entries(String folder, String pattern) {
        List<String> names = new ArrayList<>();
        if (at(folder).isPresent()) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(at(folder).get(), pattern)) {
                entries.forEach(entry -> names.add(folder + "/" + entry.getFileName()));
            } catch (IOException | DirectoryIteratorException e) {
                return List.of();
            }
        }
        names.sort(null);
        return names;
    }

    /** A path of the machine below the root that is looked at. */
    private Optional<Path> at(String path) {
        return toPath(path.substring(1)).map(root::resolve);
    }

    private static Optional<Path> toPath(String text) {
        try {
            return Optional.of(Path.of(text));
        } catch (InvalidPathException e) {
            return Optional.empty();
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
