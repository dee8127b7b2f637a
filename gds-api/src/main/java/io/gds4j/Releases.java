package io.gds4j;

import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import java.util.stream.Collectors;

/** Finds jars of different releases of gds4j on one class path, which fail later with errors such as NoSuchMethodError. */
final class Releases {
    /** A class of each module whose classes know those of other modules. */
    private static final List<String> MARKERS = List.of(
            "io/gds4j/CuFileDriver.class",
            "io/gds4j/ffi/Linkage.class",
            "io/gds4j/engine/memory/StreamWaits.class",
            "io/gds4j/compat/CompatBackendProvider.class",
            "io/gds4j/libcufile/LibCuFileBackendProvider.class",
            "io/gds4j/loader/Checkpoint.class");

    /** Examines this process once; takes about 5 ms. */
    private static final class OfThisProcess {
        private static final Optional<String> CONFLICT = conflict(Releases.class.getClassLoader());
    }

    private Releases() {
    }

    /** Returns what is wrong with the class path of this process; empty if it holds one release. */
    static Optional<String> conflict() {
        return OfThisProcess.CONFLICT;
    }

    /** Names two releases that the loader finds, and the remedy; empty if there is one, or if no manifest tells. */
    static Optional<String> conflict(ClassLoader loader) {
        Map<String, String> jars = new TreeMap<>();
        for (String marker : MARKERS) {
            for (URL place : places(marker, loader)) {
                release(place).ifPresent(release -> jars.putIfAbsent(release, jarOf(place)));
            }
        }
        if (jars.size() < 2) {
            return Optional.empty();
        }
        return Optional.of(
                "jars of %s releases of gds4j are on the class path: %s; keep one release of all modules, for example"
                        .formatted(jars.size(), jars.entrySet().stream()
                                .map(jar -> "%s (%s)".formatted(jar.getKey(), jar.getValue()))
                                .collect(Collectors.joining(", ")))
                        + " by importing io.gds4j:gds-bom");
    }

    private static List<URL> places(String resource, ClassLoader loader) {
        try {
            return new ArrayList<>(Collections.list(loader.getResources(resource)));
        } catch (IOException e) {
            return List.of();
        }
    }

    /** Returns Implementation-Version of the jar; empty for folders and for jars that others packed. */
    private static Optional<String> release(URL place) {
        try {
            URLConnection connection = place.openConnection();
            if (connection instanceof JarURLConnection jar) {
                Manifest manifest = jar.getManifest();
                Attributes attributes = manifest == null ? new Attributes() : manifest.getMainAttributes();
                String title = attributes.getValue(Attributes.Name.IMPLEMENTATION_TITLE);
                if (title != null && title.startsWith("gds-")) {
                    return Optional.ofNullable(attributes.getValue(Attributes.Name.IMPLEMENTATION_VERSION));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the jar's name without its folders. */
    private static String jarOf(URL place) {
        String path = place.getPath();
        int end = path.lastIndexOf("!/");
        String jar = end < 0 ? path : path.substring(0, end);
        return jar.substring(jar.lastIndexOf('/') + 1);
    }
}
