/** The format safetensors: a JSON header, then the tensors without gaps. */
@NullMarked
package io.gds4j.loader.format.safetensors;

import org.jspecify.annotations.NullMarked;

// Tested by
//   SafetensorsValidityTest: SafetensorsHeader
