package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Between a look at a name and its use, others may make it the name of another file. So files are found and removed by
 * {@code FoundFile} and {@code OwnFolder}. Each other call that opens, creates, changes or removes by a name has its reason here.
 */
@Tag("slow")
class OpensByNameTest {
    /** Calls that use a name, by the class that has them. A look alone is none of them: what follows the look is. */
    private static final Map<String, Pattern> BY_NAME = Map.ofEntries(
            calls("java.nio.file.Files",
                    "new.*|write.*|read(AllBytes|String|AllLines)|delete.*|move|copy|create.*|walk.*|list|find"
                            + "|lines|mismatch|set.*|getFileAttributeView"),
            calls("java.nio.channels.FileChannel", "open"),
            calls("java.nio.channels.AsynchronousFileChannel", "open"),
            calls("java.nio.file.FileSystems", "newFileSystem"),
            calls("java.nio.file.spi.FileSystemProvider", "new.*|delete.*|move|copy|create.*|setAttribute"),
            calls("java.io.File", "delete.*|renameTo|mkdirs?|create.*|set.*|list.*"),
            calls("java.io.RandomAccessFile", "<init>"),
            calls("java.io.FileInputStream", "<init>"),
            calls("java.io.FileOutputStream", "<init>"),
            calls("java.io.FileReader", "<init>"),
            calls("java.io.FileWriter", "<init>"),
            calls("java.util.zip.ZipFile", "<init>"),
            calls("java.lang.ProcessBuilder", "redirect(Input|Output|Error)"),
            calls("java.net.http.HttpRequest$BodyPublishers", "ofFile"),
            calls("java.net.http.HttpResponse$BodyHandlers", "ofFile.*"),
            calls("jdk.jfr.Recording", "dump|setDestination"),
            calls("io.gds4j.CuFileDriver", "openFile"),
            calls("io.gds4j.ffi.posix.Posix", "open|unlink|rmdir|rename|mkdir|link|chmod"));

    private static final String REASONS = """
            the helper itself
                FoundFile.channel FileChannel.open
                FoundFile.ownerIsKnown Files.setAttribute x2
                FoundFile.setPermissions Files.newDirectoryStream
                FoundFile.setPermissions Files.setAttribute
                FoundFile.setPermissions Files.setPosixFilePermissions
                FoundFile.stream Files.newInputStream
                OwnFolder.clear Files.newDirectoryStream x2
                OwnFolder.create Files.createDirectory
                OwnFolder.isOwn Files.deleteIfExists x2
                OwnFolder.isOwn Files.newByteChannel
                OwnFolder.remove Files.deleteIfExists x2
                PosixDescriptors.find Posix.open
            paths that the helper holds
                CacheFolder.store Files.createDirectories
                CacheFolder.store Files.deleteIfExists x2
                CacheFolder.store Files.move
                CacheFolder.trim Files.newDirectoryStream
                DemoRun.run Files.writeString
                LibraryEnvironment.apply Files.writeString
                LogFile.new FileOutputStream.new
                LogFile.write FileOutputStream.new
                OpenedFile.open FileChannel.open
                OutputFile.replace Files.move
                OutputFile.replace Files.write
                Report.timeline Recording.dump
                UnpackedShards.unpack Files.deleteIfExists x2
                UnpackedShards.unpack Files.move
            creates a file at a path that the helper holds, and follows no link
                LogFile.find Files.createFile
                UnpackedShards.unpack FileChannel.open
            creates a file and follows no link; the file that is found afterwards is checked and used
                WrittenFiles.create Files.createFile
            attributes of a file that the helper holds
                WrittenFiles.attributes Files.getFileAttributeView
            a file that another one took the name of is checked: by its version, or by the type of the open file
                CheckedFiles.openFile CuFileDriver.openFile
                ChannelFile.channel AsynchronousFileChannel.open
                ColdRead.bytesPerSecond CuFileDriver.openFile
                ColdRead.bytesPerSecond Posix.open
                CuFileDriver.ioPath CuFileDriver.openFile
                JobRig.handle CuFileDriver.openFile
                OutputFiles.openFile CuFileDriver.openFile
                RecordMemory.new CuFileDriver.openFile
            another form of the same call, which opens the name once
                CuFileDriver.createFile CuFileDriver.openFile
                CuFileDriver.openFile CuFileDriver.openFile
            nothing is read from it: operations of no bytes tell when a stream has passed
                TurnRing.mark CuFileDriver.openFile
            one open without a look before it: type and traits are those of the descriptor, and no pipe makes it wait
                DescriptorTable.openWithinLimit Posix.open x2
                FileDescriptors.openDirect Posix.open
                OwnedDescriptor.duplicate Posix.open
                OwnedDescriptor.open Posix.open x2
                PlainFile.open Posix.open x2
                ReadFile.cached Posix.open
            files of the system in /proc, /sys, /dev and /etc, which only root changes
                FoundFile$Users.areSome Files.readString
                AvailableHostMemory.lines Files.readAllLines
                DirectStorageProbe.devicesOpen Files.newDirectoryStream
                DirectStorageProbe.lines Files.readAllLines
                GdsCommand.lacksDescriptors FileInputStream.new
                GpuLocality.processors Files.readString
                JvmList.holdsDriver Files.newDirectoryStream
                JvmList.isRunning Files.readString
                JvmList.name Files.readString
                Keys.isInForeground Files.readString
                Keys.read Files.newInputStream
                KernelFeatures.p2pdma Files.newInputStream
                LibCuFile.entries Files.newDirectoryStream
                LibCuFile.lines Files.readAllLines
                OpenFiles.descriptors Files.readAllLines
                ChannelFile$ProcessDescriptor.of Files.readAllLines
                DescriptorTable$RecordLocks.isListed Files.readString
                RemoteFailure.lacksDescriptors FileChannel.open
                StalledCalls$FileCall.text RandomAccessFile.new
                StalledCalls.look Files.newDirectoryStream
                StalledCalls.look Files.readString
                StalledCalls.waits Files.lines
                SystemFiles.bytes Files.newInputStream
                SystemFiles.entries Files.newDirectoryStream
                SystemFiles.lines Files.readAllLines
                SystemReason$1.fail FileChannel.open
                SystemReason$2.fail FileOutputStream.new
                SystemReason$4.fail FileChannel.open
                SystemReason$5.fail FileChannel.open
                SystemReason$6.fail FileChannel.open
                TerminalQueries.stty ProcessBuilder.redirectError
                TerminalQueries.stty ProcessBuilder.redirectInput
            the standard output
                Terminal$ResultStream$Sink.new FileOutputStream.new
            a file without a name
                PathExaminer.folder Posix.open
            a file of the command's own temporary folder
                PlainRead.of FileChannel.open
            one use of a path that the program or its user names
                CredentialChain.fromContainer Files.readString
                PcieTopology.write Files.writeString
                PemTrust.read Files.newInputStream
                S3Profile.lines Files.readAllBytes
                S3Upload.run FileChannel.open
            lists a folder that the user names, and nothing else; its files are found by the helper
                HubCache.find Files.walkFileTree
                OpenedFile.list Files.newDirectoryStream
            objects of a store, which has no links
                ObjectSave.remove Files.delete
                ObjectSave.requireFree Files.list
            a new file of a random name; what takes that name is moved or deleted instead, and nothing is written through it
                FirstRequest.temporary Files.delete
                FirstRequest.temporary Files.deleteIfExists x2
                NewFile.open FileChannel.open
            single calls of saves, which follow no link; ShardedSave makes them below the folder that the helper holds
                JavaFileCalls$ChannelLock.close Files.deleteIfExists
                JavaFileCalls.createFolder Files.createDirectory
                JavaFileCalls.delete Files.deleteIfExists
                JavaFileCalls.link Files.createLink
                JavaFileCalls.read Files.readAllBytes
                JavaFileCalls.rename Files.move
                JavaFileCalls.sync FileChannel.open
                JavaFileCalls.tryLock FileChannel.open
                JavaFileCalls.write FileChannel.open
                JavaFileCalls.write Files.deleteIfExists x2
                LibcLock.close Posix.unlink
                LibcLock.take Posix.open
                SystemFileCalls.createFolder Posix.mkdir x2
                SystemFileCalls.delete Posix.rmdir
                SystemFileCalls.delete Posix.unlink
                SystemFileCalls.dropCached Posix.open
                SystemFileCalls.link Posix.link
                SystemFileCalls.read Posix.open
                SystemFileCalls.rename Posix.rename
                SystemFileCalls.setPermissions Posix.chmod x2
                SystemFileCalls.setPermissions Posix.open
                SystemFileCalls.status Posix.open
                SystemFileCalls.sync Posix.open
                SystemFileCalls.write Posix.open
                SystemFileCalls.write Posix.unlink x3
            the folder of the cache is made, and a block that does not fit its checksum is deleted: names that only a cache gives
                CacheFolder.deleted Files.deleteIfExists
                CacheFolder.read Files.deleteIfExists
                CacheFolder.read Files.setLastModifiedTime
            a folder of a random name for this user, and files that are created
                UnpackedLibrary.close Files.deleteIfExists x2
                UnpackedLibrary.of Files.createTempDirectory
                UnpackedLibrary.write Files.newByteChannel
            makes a folder; the helper refuses a link in its place
                DemoRun.keep Files.createDirectories
                DemoRun.keep Files.deleteIfExists
                DemoRun.keep Files.move x2
            a file that a variable of the user names, which may be a pipe
                GoogleTokens.open Files.newInputStream
            target/ in the project
                TemporaryFolder.parent Files.createDirectories
            """;

    /** Programs beside the product. */
    private static final List<String> OTHERS = List.of("io.gds4j.testkit", "io.gds4j.samples");

    private static Map.Entry<String, Pattern> calls(String owner, String names) {
        return Map.entry(owner, Pattern.compile(names));
    }

    @Test
    void callsThatUseNamesHaveAReason() {
        List<String> lines = REASONS.lines().toList();
        TreeSet<String> allowed = new TreeSet<>();
        lines.stream().filter(line -> line.startsWith(" ")).forEach(line -> allowed.add(line.strip()));
        assertThat(found(type -> OTHERS.stream().noneMatch(type.getPackageName()::startsWith))).isEqualTo(allowed);
    }

    /** A second open in a method that has one, and a method that is passed on. */
    @Test
    void eachCallIsFound() {
        assertThat(found(type -> type.getName().endsWith(".OwnFolder")))
                .contains("OwnFolder.isOwn Files.deleteIfExists x2");
        assertThat(found(type -> type.getName().endsWith("BackendContract$1")))
                .contains("BackendContract$1.visitFile Files.delete");
    }

    private static TreeSet<String> found(Predicate<JavaClass> asked) {
        Map<String, Integer> times = new TreeMap<>();
        Rooms.MAIN_CLASSES.stream().filter(asked).forEach(type -> Stream.concat(
                type.getCodeUnitCallsFromSelf().stream(), type.getCodeUnitReferencesFromSelf().stream())
                .filter(call -> usesName(call.getTarget()))
                .forEach(call -> times.merge(name(call.getOrigin()) + " " + name(call.getTarget()), 1, Integer::sum)));
        TreeSet<String> found = new TreeSet<>();
        times.forEach((call, count) -> found.add(count == 1 ? call : call + " x" + count));
        return found;
    }

    private static boolean usesName(AccessTarget.CodeUnitAccessTarget target) {
        Pattern names = BY_NAME.get(target.getOwner().getName());
        return names != null && names.matcher(target.getName()).matches();
    }

    private static String name(JavaCodeUnit caller) {
        return name(caller.getOwner(), caller.getName());
    }

    private static String name(AccessTarget.CodeUnitAccessTarget target) {
        return name(target.getOwner(), target.getName());
    }

    private static String name(JavaClass owner, String method) {
        String type = owner.getName().substring(owner.getPackageName().length() + 1);
        return type + "." + (method.equals("<init>") ? "new" : method);
    }
}
