/** Facts about this machine for diagnoses: platform, GPUs, mounts, and what serves a path. Changes nothing. */
@NullMarked
package io.gds4j.engine.machine;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DiagnosisTest: PathExaminer
