/** Staging memory between files and GPUs, and the copies that go through it. For both backends. */
@NullMarked
package io.gds4j.engine.staging;

import org.jspecify.annotations.NullMarked;
