/** {@code gds rdma}: perftest's measurements, with its exchange, so that its programs may be the other end. */
@NullMarked
package io.gds4j.tools.rdma;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RdmaCommandTest: RdmaRun
//   RdmaWireTest: PerftestExchange
