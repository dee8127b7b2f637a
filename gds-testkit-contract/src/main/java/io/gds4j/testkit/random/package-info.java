/**
 * A random test of the whole API beside a model of every byte. {@link io.gds4j.testkit.random.Campaign} is its entry.
 */
@NullMarked
package io.gds4j.testkit.random;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CampaignTest: BatchSteps, Bench, DataFile, Ground, ReadSteps, Round, Scenarios, SharedFile, StreamSteps, Worker
//   RandomOperationsTest: OwnFile
