/** The contract of all object stores: extend {@link io.gds4j.remote.contract.ObjectStoreContract} once for each store. */
@NullMarked
package io.gds4j.remote.contract;

import org.jspecify.annotations.NullMarked;
