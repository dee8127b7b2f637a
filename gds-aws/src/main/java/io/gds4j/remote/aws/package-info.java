/** Credentials of the AWS SDK for gds-remote. */
@NullMarked
package io.gds4j.remote.aws;

import org.jspecify.annotations.NullMarked;
