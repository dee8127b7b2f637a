/**
 * NVIDIA's libcufile through the Java FFM API, and the backend that serves by it. Lowest first: {@code CuFileCalls} calls
 * the C functions as they are; {@code CuFileResults} decodes what they answer; {@code CuFileLibrary} has them with Java
 * types; {@code LibraryProcess} opens the library once for all sessions of the process; {@code LibCuFileBackend} holds it
 * to cuFile's contract and keeps its faults away from the program. Programs find it through
 * {@link io.gds4j.spi.CuFileBackendProvider}; gds4j's command asks {@link io.gds4j.ffi.cufile.LibCuFile} and
 * {@link io.gds4j.ffi.cufile.DirectStorage} what this machine has.
 */
@NullMarked
package io.gds4j.ffi.cufile;

import org.jspecify.annotations.NullMarked;
