/** A backend of java.nio alone, for saves without a driver and for the test kit. */
@NullMarked
package io.gds4j.internal.plain;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ReferenceBackendContractTest: ChannelFile, PlainAllocator, PlainBackend
