/**
 * The binding of libcufile: one typed method for each cuFile function, one class for each struct, and the decoding of the library's
 * results. It calls the library as it is; {@code io.gds4j.libcufile} keeps its faults out.
 */
@NullMarked
package io.gds4j.ffi.cufile;

import org.jspecify.annotations.NullMarked;
