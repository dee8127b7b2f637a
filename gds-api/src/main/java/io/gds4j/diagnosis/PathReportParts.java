package io.gds4j.diagnosis;

import io.gds4j.error.CuFileException;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;

/** The parts of a {@link PathReport}. */
record PathReportParts(Path path, String kind, Optional<Mount> mount, Optional<DirectAlignment> alignment,
        Optional<IoPathReport> buffered, Optional<IoPathReport> direct, Optional<String> obstacle, String note,
        Optional<CuFileException> failure) implements PathReport {}
