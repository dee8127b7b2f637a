/**
 * The backend {@code libcufile}: cuFile by NVIDIA's library, found through {@link io.gds4j.spi.CuFileBackendProvider}. This package wires
 * the packages below together; none of them knows it. {@code LibCuFileBackend} has the functions, {@code LibCuFileSession} the files,
 * buffers, batches and streams of one open driver. gds4j's command asks {@link io.gds4j.libcufile.DirectStorageProbe} about the machine.
 */
@NullMarked
package io.gds4j.libcufile;

import org.jspecify.annotations.NullMarked;

// Tested by
//   LibCuFileContractTest: LibCuFileSession, LibraryControls
