/**
 * The contract of all backends as abstract JUnit classes: extend
 * {@link io.gds4j.testkit.contract.BackendContractSuite} once for each backend.
 */
@NullMarked
package io.gds4j.testkit.contract;

import org.jspecify.annotations.NullMarked;
