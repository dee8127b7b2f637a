/** HTTP by libcurl, where the system has one: its connections need a fraction of the processor time of those of the JDK. */
@NullMarked
package io.gds4j.ffi.curl;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CurlTest: CurlAnswer, CurlWire
//   CurlReadAheadTest: CurlReadAhead
//   TlsPolicyTest: CurlTls
