/**
 * libcufile in this process: loaded once, opened by the first session and closed by the last one, with the settings, registrations and
 * slabs that all sessions share.
 */
@NullMarked
package io.gds4j.libcufile.process;

import org.jspecify.annotations.NullMarked;
