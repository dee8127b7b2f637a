package io.gds4j.tools.check;

import java.util.Locale;
import java.util.Optional;

/** What {@code --require} can demand of a machine. */
public enum Requirement {
    /** A GPU that this process can use. */
    GPU,
    /** libcufile. */
    LIBCUFILE,
    /** Some storage reaches a GPU through nvidia-fs. */
    NVFS,
    /** Some storage reaches a GPU through PCI peer-to-peer DMA. */
    P2PDMA,
    /** Every path argument supports direct I/O. */
    ODIRECT;

    /** Describes what is missing; empty if the machine meets the requirement. */
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
                    .filter(path -> path.error().isEmpty() && path.report().alignment().isEmpty())
                    .findFirst()
                    .map(path -> path.report().path() + " has no direct I/O");
        };
    }

    private static Optional<String> when(boolean lacks, String sentence) {
        return lacks ? Optional.of(sentence) : Optional.empty();
    }
}
