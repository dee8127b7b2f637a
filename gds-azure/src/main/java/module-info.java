/** Tokens of Azure's identity library for gds-remote. */
module io.gds4j.remote.azure {
    requires transitive io.gds4j.remote;
    requires transitive com.azure.core;
    requires com.azure.identity;

    exports io.gds4j.remote.azure;

    provides io.gds4j.remote.AccessTokenProvider with io.gds4j.remote.azure.EntraTokens;
}
