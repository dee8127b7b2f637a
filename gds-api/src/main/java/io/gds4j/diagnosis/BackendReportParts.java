package io.gds4j.diagnosis;

import java.util.Optional;

/** The parts of a {@link BackendReport}. */
record BackendReportParts(String name, boolean chosen, Optional<String> reason, Optional<String> remedy,
        Optional<String> whyNotChosen) implements BackendReport {}
