/**
 * What a driver knows of its machine: {@link io.gds4j.diagnosis.Diagnosis}, which {@link io.gds4j.CuFileDriver#diagnose} returns.
 */
@NullMarked
package io.gds4j.diagnosis;

import org.jspecify.annotations.NullMarked;
