package io.gds4j.tools;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.tools.check.LibCuFile;
import io.gds4j.tools.terminal.BuildInfo;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Text;
import java.nio.file.Path;

/** Prints the output of {@code gds --version}. */
final class VersionText {
    private VersionText() {
    }

    static int print(Terminal terminal, boolean json) {
        BuildInfo build = BuildInfo.read();
        LibCuFile library = LibCuFile.find(SystemFiles.ofMachine(), terminal.environment());
        String jdk = System.getProperty("java.runtime.version");
        String vendor = System.getProperty("java.vendor");
        if (json) {
            terminal.printJson(Fields.of("schema", Output.schema("version"))
                    .and("version", build.version())
                    .and("commit", build.commit())
                    .and("jdk", jdk)
                    .and("jdkVendor", vendor)
                    .and("libcufile", library.version())
                    .and("libcufilePath", library.path().map(Path::toString)).map());
        } else {
            terminal.out().println("gds4j " + build.version() + " (commit " + build.commit() + ")");
            terminal.out().println(Text.row("JDK", jdk + ", " + vendor));
            terminal.out().println(Text.row("libcufile", library.describe()));
        }
        return ExitStatus.DONE.code();
    }
}
