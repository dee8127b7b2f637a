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
//   S3FilesTest: FileContent, S3Listing, S3Parts, S3Publication, S3Requests, S3Target, S3Upload
//   HttpSourcePoolTest: ClientPool, SharedClient
//   TlsPolicyTest: Handshake, JvmTls
