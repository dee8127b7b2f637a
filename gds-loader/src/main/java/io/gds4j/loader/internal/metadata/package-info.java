/** Typed metadata as texts, which is all that headers of safetensors hold. For the formats and for saving. */
@NullMarked
package io.gds4j.loader.internal.metadata;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CopiedMetadataTest: MetadataText
