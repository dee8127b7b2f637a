/** Tokens of Azure's identity library for gds-remote. */
@NullMarked
package io.gds4j.remote.azure;

import org.jspecify.annotations.NullMarked;
