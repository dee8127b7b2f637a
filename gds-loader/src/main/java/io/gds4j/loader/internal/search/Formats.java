package io.gds4j.loader.internal.search;

import io.gds4j.loader.format.CheckpointFormat;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** Finds the formats: those of gds4j, then those that programs provide. */
public final class Formats {
    private static final String SERVICE_FILE = "META-INF/services/" + CheckpointFormat.class.getName();
    /** Formats of this module in the order in which they are asked. */
    private static final List<String> OWN = List.of(
            "io.gds4j.loader.format.safetensors.SafetensorsFormat",
            "io.gds4j.loader.format.gguf.GgufFormat",
            "io.gds4j.loader.format.torch.DistcpFormat",
            "io.gds4j.loader.format.torch.TorchFormat",
            "io.gds4j.loader.format.numpy.NpyFormat",
            "io.gds4j.loader.format.numpy.NpzFormat",
            "io.gds4j.loader.format.onnx.OnnxFormat",
            "io.gds4j.loader.format.extents.ExtentsFormat");
    private static final List<CheckpointFormat> FOUND = find(CheckpointFormat.class.getClassLoader());

    private Formats() {
    }

    /** Returns the formats of the class loader of this module. */
    public static List<CheckpointFormat> all() {
        return FOUND;
    }

    /**
     * Returns the formats that a loader finds. Logs and omits a format that cannot be loaded. Finds formats of this module by name
     * where a jar of many jars kept only one of the service files.
     */
    public static List<CheckpointFormat> find(ClassLoader loader) {
        List<CheckpointFormat> found = new ArrayList<>();
        Iterator<CheckpointFormat> providers = ServiceLoader.load(CheckpointFormat.class, loader).iterator();
        while (true) {
            try {
                if (!providers.hasNext()) {
                    break;
                }
                found.add(providers.next());
            } catch (ServiceConfigurationError e) {
                warn("a format of checkpoints cannot be loaded: %s; add its jar or remove its line from %s"
                        .formatted(e.getMessage(), SERVICE_FILE));
            }
        }
        for (String name : OWN) {
            if (found.stream().noneMatch(format -> format.getClass().getName().equals(name))) {
                addUnlisted(name, loader, found);
            }
        }
        // Not Comparator.comparingInt: a class archive lacks its lambda, which costs 2 ms of a first load.
        found.sort((a, b) -> Integer.compare(rank(a), rank(b)));
        return List.copyOf(found);
    }

    private static void addUnlisted(String name, ClassLoader loader, List<CheckpointFormat> found) {
        try {
            found.add((CheckpointFormat) Class.forName(name, true, loader).getConstructor().newInstance());
            warn("no %s lists %s; found by name. Merge the service files of all jars".formatted(SERVICE_FILE, name));
        } catch (ReflectiveOperationException | LinkageError e) {
            warn("a format of checkpoints cannot be loaded: %s: %s".formatted(name, e));
        }
    }

    private static int rank(CheckpointFormat format) {
        int index = OWN.indexOf(format.getClass().getName());
        return index < 0 ? OWN.size() : index;
    }

    private static void warn(String line) {
        System.getLogger("io.gds4j.loader").log(Level.WARNING, line);
    }
}
