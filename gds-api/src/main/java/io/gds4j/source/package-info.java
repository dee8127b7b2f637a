/**
 * Sources of bytes that programs supply: anything that can read a range, such as an object of a store or a decrypted file.
 */
@NullMarked
package io.gds4j.source;

import org.jspecify.annotations.NullMarked;
