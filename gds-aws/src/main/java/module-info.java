/** Credentials of the AWS SDK for gds-remote. */
@SuppressWarnings("requires-transitive-automatic") // no module of the SDK has a descriptor
module io.gds4j.remote.aws {
    requires transitive io.gds4j.remote;
    requires transitive software.amazon.awssdk.auth;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.profiles;

    exports io.gds4j.remote.aws;

    provides io.gds4j.remote.S3CredentialsProvider with io.gds4j.remote.aws.AwsSdkCredentials;
}
