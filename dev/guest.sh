#!/bin/bash
# Runs commands and tests in a virtual machine with a Linux kernel of its own, for what this machine's kernel lacks: disks that
# fail, lose or log writes (dm-flakey, dm-error, dm-log-writes, NBD), NVMe with blocks of 4096 bytes, an NFS server.
#
#   dev/guest.sh test [-Dkey=value ...] [REGEX]     tests tagged guest whose class matches, in one JVM in the guest
#   dev/guest.sh rdma [-Dkey=value ...] [REGEX]     tests tagged rdma, on two devices of Soft-RoCE (rxe0, rxe1) joined by a cable
#   dev/guest.sh here [-Dkey=value ...] [REGEX]     the same on this machine: those that need only nbdfuse, without emulation
#   dev/guest.sh power [RECORDING ...]              cuts the power at each write, on each file system, and kills the machine
#   dev/guest.sh run [OPTION ...] COMMAND           a shell command; status: that of the command
#
#     -d FILE[,MIB]   a disk with blocks of 512 bytes: /dev/vda, vdb and so on; with MIB, a missing file is created, sparse
#     -n FILE[,MIB]   an NVMe disk with blocks of 4096 bytes: /dev/nvme0n1, nvme1n1 and so on
#     -f FOLDER       a folder shared with the guest, read and write: /mnt/out there
#     -m MIB          memory (3072)
#     -t SECONDS      time limit (600)
#
# The guest has this machine's files under the same paths. What it writes to them is thrown away at its end; disks and -f stay.
# Programs in the guest: `nfs-server start DIR` exports DIR, a mounted disk, by NFS 3 (as DIR) and NFS 4.2 (as /), `nfs-server
# stop` and `restart` leave mounts alone; `rdma-devices` makes rxe0 (10.9.0.1) and rxe1 (10.9.1.1), GID 1; modprobe and dmsetup.
#
# Status 4, with one line, where there is no qemu or no kernel for it, 124 when time ran out or the guest died. A test run has
# /dev/vda and /dev/vdb of 512 MB and /dev/nvme0n1 of 512 MB, all empty.
#
# Needs Debian, and root to install its packages once. Uses KVM if a kernel boots with it; emulated programs are 20 times slower.
#
# The power run records the calls of the tables in docs/saving.md and docs/operations.md on disks that log each write, one for
# each file system (see Recording), and replays the logs on this machine, which needs root and loop devices. Status 5 if a table
# is wrong somewhere, or if the control, saves without an fsync, is found nowhere.
#
#   LIMIT=600           seconds that a test run may take, or the recording of a power run (5400)
#   MEMORY=3072         MIB of the guest in a test run; half of it is room for files
#   LOGS=FOLDER         keeps what the power run records, and replays what is there (a new folder)
#   ROUNDS=5 CUTS=15000 of the power run: calls of each kind that a log records, and cuts of each log
#   KILLS=17 SEED=1     of the power run: kills of the machine for each file system, and what decides them and lost writes
#   SERIES=6.12         kernel: 6.1 or, from Debian 12's updates, 6.12
#   CACHE=FOLDER        the kernel's place, 400 MB (~/.cache/gds4j/guest)
#   ACCEL=kvm|tcg       instead of trying
#   CPUS=1              processors of the guest (2); on a busy machine that emulates, one is faster
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
. "$(dirname "$0")/test-jvm.sh"
series=${SERIES:-6.12} cache=$(realpath -m "${CACHE:-$HOME/.cache/gds4j/guest}") tree=$cache/kernel-$series
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

usage() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"
    exit 2
}

lacking() {
    echo "$0: $*: nothing ran" >&2
    exit 4
}

# --- qemu, the guest's programs and its kernel, fetched once ----------------------------------------------------------
# need_programs PROGRAMS PACKAGES
need_programs() {
    local program missing=
    for program in $1; do command -v $program >/dev/null || missing=$program; done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || lacking "no $missing here, and no right to install it with apt-get"
    {
        apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $2
    } </dev/null >/dev/null 2>&1 || true
    for program in $1; do command -v $program >/dev/null || lacking "$program cannot be installed here"; done
}

fetch() {
    need_programs "qemu-system-x86_64 busybox cpio depmod dmsetup mkfs.ext4 mkfs.xfs mkfs.btrfs rpcbind rpc.nfsd mount.nfs nbd-client" \
        "qemu-system-x86 busybox-static cpio kmod dmsetup e2fsprogs xfsprogs btrfs-progs nfs-kernel-server nfs-common rpcbind nbd-client"
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9
    if [ ! -e "$tree/version" ]; then
        local package
        package=$(apt-cache search "^linux-image-${series//./\\.}\\.[0-9.]+(-[0-9]+|\\+deb[0-9]+)-amd64\$" | cut -d' ' -f1 | sort -V | tail -1)
        [ -n "$package" ] || lacking "no kernel $series among the packages of this machine"
        rm -rf "$tree"
        mkdir "$tree"
        (cd "$tree" && apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb) </dev/null >/dev/null 2>&1 ||
            lacking "$package cannot be fetched"
        depmod -b "$tree" "$(ls "$tree/lib/modules")"
        ls "$tree/lib/modules" >"$tree/version"
    fi
    version=$(cat "$tree/version")
    first_files_of
    choose_accelerator
    exec 9>&-
}

# --- the guest's first file system: busybox, the modules that its root needs, and the program that mounts it -----------
first_files_of() {
    local ir=$scratch/first module
    mkdir -p "$ir"/{bin,proc,sys,dev,modules,host,upper,root,guest}
    cp "$(command -v busybox)" "$ir/bin/busybox"
    cp "$ir/bin/busybox" "$ir/guest/"
    for module in virtio_pci 9pnet_virtio 9p overlay; do modprobe -S "$version" -d "$tree" --show-depends $module; done |
        awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        echo "/modules/$(basename "$module")" >>"$ir/modules/order"
        cp "$module" "$ir/modules/"
    done
    cat >"$ir/init" <<'I'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
if $b grep -q guest.probe /proc/cmdline; then
    $b echo GUEST-STATUS 0
    $b poweroff -f
fi
while read -r m; do
    case $m in *.xz) $b xzcat "$m" >/module.ko; m=/module.ko ;; esac
    $b insmod "$m"
done </modules/order
$b mount -t 9p -o version=9p2000.L,msize=524288,trans=virtio,ro,cache=loose host /host || { $b echo "the guest has no root"; $b poweroff -f; }
$b mount -t tmpfs -o size=60% upper /upper
$b mkdir /upper/written /upper/work
$b mount -t overlay -o lowerdir=/host,upperdir=/upper/written,workdir=/upper/work root /root
for f in proc sys dev; do $b mount --move /$f /root/$f; done
$b mount -t tmpfs run /root/run
$b mkdir -p /root/dev/pts /root/dev/shm /root/mnt/out /root/run/guest
$b mount -t devpts pts /root/dev/pts
$b mount -t tmpfs -o size=60%,mode=1777 shm /root/dev/shm
$b cp /guest/* /root/run/guest/
[ ! -e /guest/out ] || $b mount -t 9p -o version=9p2000.L,msize=524288,trans=virtio,cache=mmap out /root/mnt/out
$b echo /run/guest/modprobe >/root/proc/sys/kernel/modprobe
exec $b switch_root /root /bin/bash /run/guest/command
I
    cat >"$ir/guest/modprobe" <<I
#!/bin/sh
exec $(command -v modprobe) -d $tree "\$@"
I
    cat >"$ir/guest/nfs-server" <<'I'
#!/bin/bash
# Leases and the time of grace are the shortest that the kernel allows, 10 s.
set -e
up() { rpc.nfsd -G 10 -L 10 8; }
case ${1:-} in
    start)
        modprobe -a nfsd nfs nfsv3 nfsv4
        mkdir -p /run/rpc_pipefs /run/sendsigs.omit.d
        mount -t tmpfs state /var/lib/nfs
        mkdir -p /var/lib/nfs/{sm,sm.bak,v4recovery,nfsdcld}
        touch /var/lib/nfs/{etab,rmtab,state}
        chown -R statd /var/lib/nfs/{sm,sm.bak,state}
        mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
        mountpoint -q /run/rpc_pipefs || mount -t rpc_pipefs pipes /run/rpc_pipefs
        for program in 'rpcbind -w' 'rpc.statd --no-notify' nfsdcld; do pidof "${program%% *}" >/dev/null || $program; done
        exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0 "127.0.0.1:$(realpath "$2")"
        up
        pidof rpc.mountd >/dev/null || rpc.mountd
        ;;
    stop) rpc.nfsd 0 ;;
    restart) rpc.nfsd 0 && up ;;
    *) echo "nfs-server start DIR | stop | restart" >&2; exit 2 ;;
esac
I
    cat >"$ir/guest/rdma-devices" <<'I'
#!/bin/sh
set -e
modprobe -a veth rdma_rxe ib_uverbs
ip link add cable0 type veth peer name cable1
sysctl -qw net.ipv4.conf.all.accept_local=1 net.ipv4.conf.all.rp_filter=0
for i in 0 1; do
    sysctl -qw net.ipv4.conf.cable$i.accept_local=1 net.ipv4.conf.cable$i.rp_filter=0
    ip addr add 10.9.$i.1/16 dev cable$i
    ip link set cable$i up
done
for i in 0 1; do rdma link add rxe$i type rxe netdev cable$i; done
I
    chmod +x "$ir/init" "$ir"/guest/*
}

qemu() {
    exec qemu-system-x86_64 "$@" -display none -serial stdio -monitor none -no-reboot -nic none -kernel "$tree/boot/vmlinuz-$version" \
        -initrd "$scratch/first.gz" </dev/null 2>&1
}

pack() {
    (cd "$scratch/first" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$scratch/first.gz"
}

# A busy machine gives a guest its timer late, which the kernel takes for a broken one.
arguments="console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"
export -f qemu

# /dev/kvm may open and still run no ordinary kernel: only a boot shows it. Kept for this machine's kernel.
choose_accelerator() {
    local answer
    answer=$cache/accel-$(uname -r)
    if [ -n "${ACCEL:-}" ]; then
        accel=$ACCEL
    elif [ -s "$answer" ]; then
        accel=$(cat "$answer")
    else
        accel=tcg
        pack
        if [ -w /dev/kvm ] && (export tree version scratch; timeout 10 bash -c 'qemu "$@"' - -accel kvm -cpu host -m 512 -append "$arguments guest.probe") | grep -q GUEST-STATUS; then
            accel=kvm
        fi
        echo $accel >"$answer"
    fi
}

# --- one boot ---------------------------------------------------------------------------------------------------------
# boot [OPTION ...] COMMAND: status of the command
boot() {
    local memory=3072 limit=600 out= drives=() shares=() nvmes=0 option OPTIND=1 machine status
    while getopts m:t:d:n:f: option; do
        case $option in
            m) memory=$OPTARG ;;
            t) limit=$OPTARG ;;
            f) out=$OPTARG ;;
            d | n)
                local file=${OPTARG%,*}
                [ "$file" = "$OPTARG" ] || [ -e "$file" ] || truncate -s "${OPTARG##*,}M" "$file"
                [ -w "$file" ] || { echo "$0: no disk $file" >&2; return 2; }
                local drive=file=$file,format=raw,cache=unsafe,discard=unmap,detect-zeroes=unmap
                if [ $option = d ]; then
                    drives+=(-drive "$drive,if=virtio")
                else
                    drives+=(-drive "$drive,if=none,id=nvme$nvmes"
                        -device "nvme,drive=nvme$nvmes,serial=nvme$nvmes,logical_block_size=4096,physical_block_size=4096")
                    nvmes=$((nvmes + 1))
                fi
                ;;
            *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    [ $# -gt 0 ] || usage
    shares=(-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap")
    rm -f "$scratch/first/guest/out"
    [ -z "$out" ] || { touch "$scratch/first/guest/out"; shares+=(-virtfs "local,path=$out,mount_tag=out,security_model=none,multidevs=remap"); }
    cat >"$scratch/first/guest/command" <<I
export PATH=/run/guest:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DM_DISABLE_UDEV=1
ulimit -l unlimited
dmesg -n 1
modprobe -a virtio_blk nvme loop dm-mod
ip link set lo up
cd $(printf %q "$PWD")
( $* ) </dev/null
echo "GUEST-STATUS \$?"
sync
exec /run/guest/busybox poweroff -f
I
    pack
    machine=(-accel tcg,thread=multi -cpu max)
    [ "$accel" = tcg ] || machine=(-accel kvm -cpu host)
    (
        export tree version scratch
        timeout "$limit" bash -c 'qemu "$@"' - "${machine[@]}" -smp "${CPUS:-2}" -m "$memory" "${shares[@]}" "${drives[@]}" -append "$arguments" || true
    ) | sed -u 's/\r//g; s/\x1b\[[0-9;?]*[A-Za-z]//g; s/^\x1bc//' | tee "$scratch/console" | grep -av --line-buffered -e GUEST-STATUS \
        -e '^SeaBIOS' -e '^iPXE' -e '^Press Ctrl-B' -e '^Booting from' -e '^$' -e 'reboot: Power down' -e 'sysrq: Power Off' || true
    status=$(sed -n 's/^GUEST-STATUS //p' "$scratch/console" | tail -1)
    return "${status:-124}"
}

# --- tests ------------------------------------------------------------------------------------------------------------
# Short programs: a second compiler and a parallel collector cost an emulated machine more than they save.
guest_java="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx1g --enable-native-access=ALL-UNNAMED"

# Sets command_line: JUnit with the tests of the modules below that are tagged guest, or as $tag says.
tag=guest
choose_tests() {
    local word properties=() selection=. modules="gds-compat gds-loader gds-remote gds-rdma gds-tools" module folders= classes
    for word; do
        case $word in
            -D*) properties+=("$word") ;;
            -*) usage ;;
            *) selection=$word ;;
        esac
    done
    class_path=$(class_path_of $modules gds-native gds-engine)
    need_test_jvm
    for module in $modules; do [ -d "$(tests_of "$module")" ] && folders=$folders:$(tests_of "$module"); done
    [ -n "$folders" ] || { echo "$0: no test classes; mvn verify makes them" >&2; exit 6; }
    "$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED org.junit.platform.console.ConsoleLauncher discover --include-engine junit-jupiter \
        --include-tag $tag --scan-classpath "${folders#:}" --details=verbose --details-theme=ascii --disable-banner --disable-ansi-colors \
        >"$scratch/discovered" 2>&1
    classes=$(sed -nE 's/.* uniqueId: (\[engine:junit-jupiter\]\/\[class:[^]]*\](\/\[nested-class:[^]]*\])?)\/.*/\1/p' "$scratch/discovered" | sort -u | grep -E -- "$selection") ||
        { echo "$0: no class with the tag $tag matches $selection" >&2; exit 2; }
    command_line=("$(command -v "$java")" $guest_java "${properties[@]}" -cp "$class_path" org.junit.platform.console.ConsoleLauncher execute
        --include-engine junit-jupiter --include-tag $tag --details=testfeed --disable-banner --disable-ansi-colors
        $(printf -- '--select-unique-id %s ' $classes))
}

test_in_guest() {
    choose_tests "$@"
    boot -m "${MEMORY:-3072}" -d "$scratch/vda,512" -d "$scratch/vdb,512" -n "$scratch/nvme,512" -t "${LIMIT:-600}" "exec $(printf '%q ' "${command_line[@]}")"
}

test_rdma() {
    tag=rdma
    choose_tests "$@"
    boot -m "${MEMORY:-3072}" -t "${LIMIT:-600}" "rdma-devices && cd gds-tools && exec $(printf '%q ' "${command_line[@]}")"
}

# In a mount namespace of its own: one that another process copies would keep file systems alive that a test unmounts.
test_here() {
    choose_tests "$@"
    timeout "${LIMIT:-600}" unshare --mount --propagation private "${command_line[@]}"
}

# --- power ------------------------------------------------------------------------------------------------------------
power() {
    [ "$(id -u)" = 0 ] && losetup --find >/dev/null 2>&1 && unshare -m true 2>/dev/null || lacking "no root, loop devices or mounts here"
    class_path=$(class_path_of gds-tools)
    need_test_jvm
    # In mounts of its own: another program that copies this one's would keep a disk mounted between two cuts.
    unshare -m --propagation private "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Dgds4j.guest="$root/dev/guest.sh" \
        -Dgds4j.guest.limit="${LIMIT:-5400}" \
        -Dgds4j.guest.java="$(command -v "$java") $guest_java -cp $class_path" -cp "$class_path" io.gds4j.tools.power.PowerRun \
        "${LOGS:-$scratch/power}" "${ROUNDS:-5}" "${CUTS:-15000}" "${KILLS:-17}" "${SEED:-1}" "$@"
}

command=${1:-}
[ $# = 0 ] || shift
case $command in
    run) fetch && boot "$@" ;;
    test) fetch && test_in_guest "$@" ;;
    rdma) need_programs "rdma ib_write_bw ip" "rdma-core ibverbs-providers perftest iproute2" && fetch && test_rdma "$@" ;;
    here) need_programs "nbdfuse fusermount3 mkfs.ext4" "libnbd-bin fuse3 e2fsprogs" && test_here "$@" ;;
    power) fetch && power "$@" ;;
    *) usage ;;
esac
