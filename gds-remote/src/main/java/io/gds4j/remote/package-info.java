/** Objects of HTTP and S3 servers as sources and as paths. */
@NullMarked
package io.gds4j.remote;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RemoteCacheTest: CacheFolder, CachedSource
//   AwsConfigurationTest: CredentialChain, S3Profile
//   HttpSourceTest: FirstRequest, HttpConnections, NativeClient, NativeExchange
//   ObjectPathTest: HttpFileSystem, HttpPath, HttpProvider, Reach, SourceChannel
//   HttpSourceFaultTest: RangeBody, RangePart, RemoteFailure
//   S3FilesTest: S3Listing, S3Requests, S3Upload
