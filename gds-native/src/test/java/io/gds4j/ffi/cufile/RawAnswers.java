package io.gds4j.ffi.cufile;

import java.nio.file.Path;

/**
 * Main class of a child JVM: asks libcufile one group of cases and prints a row for each. Some cases end the process.
 */
public final class RawAnswers {
    private RawAnswers() {
    }

    /** @param args group, file of 8 MiB */
    public static void main(String[] args) {
        RawLibrary library = RawLibrary.ofThisMachine(Path.of(args[1]));
        switch (args[0]) {
            case "pre" -> new RawDriverCases(library).beforeAndAfterOpen();
            case "opening" -> new RawDriverCases(library).opening();
            case "range" -> new RawDriverCases(library).parameters();
            case "stats" -> new RawDriverCases(library).statistics();
            case "handle" -> new RawFileCases(library).handles();
            case "buf" -> new RawFileCases(library).buffers();
            case "io" -> new RawTransferCases(library, false).run();
            case "iod" -> new RawTransferCases(library, true).run();
            case "ioforced" -> new RawTransferCases(library, false).runShort();
            case "batch" -> new RawBatchCases(library).batches();
            case "batchnull" -> new RawBatchCases(library).withoutAPlaceForTheBatch();
            case "stream" -> new RawBatchCases(library).streams();
            case "later" -> new RawLaterCases(library).run();
            default -> throw new IllegalArgumentException(args[0]);
        }
        // Ends as the C program did, without the JVM's shutdown.
        library.row("end", "reached");
        Runtime.getRuntime().halt(0);
    }
}
