/** Objects of HTTP and S3 servers, of Azure and of the Hugging Face hub as sources and as paths. */
@NullMarked
package io.gds4j.remote;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RemoteCacheTest: CacheFolder, CachedSource
//   AwsConfigurationTest: CredentialChain, S3Profile
//   AzureContractTest: AzureBlocks, AzureTarget
//   AzureOptionsTest: AzureFiles, AzureSigner, AzureStore
//   CertificatesTest: PemTrust
//   HttpSourceTest: FirstRequest, HttpConnections, NativeClient, NativeExchange
//   ObjectPathTest: HttpFileSystem, HttpPath, HttpProvider, Reach, SourceChannel
//   HttpSourceFaultTest: RangeBody, RemoteFailure
//   S3FilesTest: FileContent, Parts, S3Listing, S3Parts, S3Publication, S3Requests, S3Target, S3Upload
//   HttpSourcePoolTest: ClientPool, SharedClient
//   HubFilesTest: HubCache, HubListing, HubNames, HubRevision, HubStore
//   TlsPolicyTest: Handshake, JvmTls
