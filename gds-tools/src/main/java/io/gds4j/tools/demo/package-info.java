/**
 * {@code gds demo}: creates a checkpoint shaped like a Llama model, loads and verifies it, compares the speed with a
 * plain read, and deletes it.
 */
@NullMarked
package io.gds4j.tools.demo;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DemoCommandTest: DemoRun
