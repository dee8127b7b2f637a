/**
 * NVIDIA's libcufile through the Java FFM API, and the backend that serves by it. Lowest first: {@code CuFileCalls} calls the
 * C functions; {@code CuFileResults} decodes their results; {@code CuFileLibrary} offers them with Java types;
 * {@code LibraryProcess} opens the library once for all sessions of the process; {@code LibCuFileBackend} keeps cuFile's
 * contract and the library's faults away from the program. Programs find it through
 * {@link io.gds4j.spi.CuFileBackendProvider}; gds4j's command asks {@link io.gds4j.ffi.cufile.LibCuFile} and
 * {@link io.gds4j.ffi.cufile.DirectStorage} about the machine.
 */
@NullMarked
package io.gds4j.ffi.cufile;

import org.jspecify.annotations.NullMarked;
