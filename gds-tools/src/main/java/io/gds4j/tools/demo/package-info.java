/**
 * {@code gds demo}: a checkpoint shaped like a Llama model is made, loaded, verified against what was generated, compared with
 * a plain read, and removed.
 */
@NullMarked
package io.gds4j.tools.demo;

import org.jspecify.annotations.NullMarked;
