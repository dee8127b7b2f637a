/**
 * Remote direct memory access by verbs: protection domains, memory regions and windows, connected queue pairs, and files sent from
 * storage to a peer. {@link io.gds4j.rdma.RdmaDevices} is the start. All of it is experimental.
 */
@NullMarked
package io.gds4j.rdma;

import org.jspecify.annotations.NullMarked;
