package io.gds4j.engine.kernel;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes the programs of the kernels to a folder, each as the driver gets it, for {@code ptxas}. */
final class PtxFiles {
    private PtxFiles() {
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        Files.writeString(folder.resolve("copy.ptx"), Ptx.copy());
        Files.writeString(folder.resolve("fragments.ptx"), Ptx.fragments());
        for (Ptx.Target target : Ptx.Target.values()) {
            Files.writeString(folder.resolve("gather-" + target + ".ptx"), Ptx.gather(target));
        }
    }
}
