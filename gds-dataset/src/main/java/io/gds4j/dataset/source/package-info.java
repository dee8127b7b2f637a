/**
 * Where the records of a data set lie: {@link io.gds4j.dataset.source.RecordSource} and the formats that
 * {@link io.gds4j.dataset.source.RecordFiles} reads. A source turns files into checked byte ranges. It knows nothing about memory,
 * threads or the order of reads.
 */
@NullMarked
package io.gds4j.dataset.source;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RecordFilesTest: FixedRecords, HeaderFile, MegatronIndex, VariableRecords, VectorFile
//   TarSamplesTest: HeaderScan, JoinedRecords, Longs, Packed, PaxHeader, TarMembers
//   MdsShardTest: MdsIndex
//   UnpackedShardsTest: Checksum
//   ArrowFileTest: ArrowColumn, FlatTable
