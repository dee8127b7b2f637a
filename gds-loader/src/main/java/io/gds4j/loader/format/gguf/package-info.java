/**
 * The format GGUF of llama.cpp, versions 2 and 3: typed metadata, tensor descriptions, then the tensors, each padded to an
 * alignment. {@link io.gds4j.loader.format.gguf.GgufFormat} is the entry; a program needs it to register types of a fork.
 */
@NullMarked
package io.gds4j.loader.format.gguf;

import org.jspecify.annotations.NullMarked;

// Tested by
//   GgufFormatTest: GgufCursor, GgufHeader, GgufMetadata, SplitKeys
