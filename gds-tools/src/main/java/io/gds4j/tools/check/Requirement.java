package io.gds4j.tools.check;

import java.util.Locale;
import java.util.Optional;

/** Something that a script cannot do without. */
public enum Requirement {
    /** A GPU that this process can use. */
    GPU,
    /** libcufile. */
    LIBCUFILE,
    /** Any storage that reaches a GPU through nvidia-fs. */
    NVFS,
    /** Any storage that reaches a GPU through PCI peer-to-peer DMA. */
    P2PDMA,
    /** Direct I/O on each path that was named. */
    ODIRECT;

    /** What is missing, in a sentence; empty if it is there. */
    Optional<String> lacking(CheckReport report) {
        return switch (this) {
            case GPU -> when(report.gpus().isEmpty(), "there is no GPU");
            case LIBCUFILE -> when(report.library().path().isEmpty(), "libcufile is not found");
            case NVFS, P2PDMA -> when(
                    report.storage().support().stream().noneMatch(
                            support -> support.ways().contains(name().toLowerCase(Locale.ROOT))),
                    "no storage reaches a GPU by " + name().toLowerCase(Locale.ROOT));
            case ODIRECT -> report.paths()
                    .stream()
                    .filter(path -> path.error().isEmpty() && path.alignment().isEmpty())
                    .findFirst()
                    .map(path -> path.path() + " has no direct I/O");
        };
    }

    private static Optional<String> when(boolean lacks, String sentence) {
        return lacks ? Optional.of(sentence) : Optional.empty();
    }
}
