package io.gds4j.tools.check;

import io.gds4j.diagnosis.PathReport;
import io.gds4j.tools.terminal.ErrorReport;
import java.util.Optional;

/**
 * A path argument.
 *
 * @param report what serves it
 * @param error why it could not be examined
 */
record CheckedPath(PathReport report, Optional<ErrorReport> error) {
}
