/**
 * Keeps the library's faults away from the program: preconditions, limits, registrations of a session, and transfers that are cut where
 * the library would fail or change memory that was not asked for.
 */
@NullMarked
package io.gds4j.libcufile.guard;

import org.jspecify.annotations.NullMarked;
