/** Tokens of Google's auth library for gds-remote. */
@NullMarked
package io.gds4j.remote.gcs;

import org.jspecify.annotations.NullMarked;
