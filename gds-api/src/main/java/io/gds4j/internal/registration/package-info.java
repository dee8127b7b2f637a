/**
 * Registers GPU memory for requests whose program did not, and keeps it registered while there is room. {@code io.gds4j} makes
 * a {@link io.gds4j.internal.registration.RegistrationCache} for each session whose policy asks for one.
 */
@NullMarked
package io.gds4j.internal.registration;

import org.jspecify.annotations.NullMarked;
