/** The structs of DLPack and their deleters. It moves numbers; {@code io.gds4j.interop.dlpack} knows what they mean. */
@NullMarked
package io.gds4j.ffi.dlpack;

import org.jspecify.annotations.NullMarked;
