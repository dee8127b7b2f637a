package io.gds4j.loader;

/** The parts of a {@link AlignmentReport}. */
record AlignmentReportParts(long alignment, int tensors, int alignedInFile, int read, int gathered,
        long gatheredBytes) implements AlignmentReport {}
