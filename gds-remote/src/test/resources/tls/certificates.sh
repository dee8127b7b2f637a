#!/bin/bash
# Makes an authority and certificates that are wrong in one way each, in the current folder.
set -e
q() { openssl "$@" 2>/dev/null; }
key() { q genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:$2 -out $1.key; }
for name in ca other leaf middle; do key $name 2048 & done
key short 1024
key shorter 512
q genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.key
wait
q req -x509 -new -key ca.key -out ca.pem -days 3650 -subj /CN=TestCA -addext basicConstraints=critical,CA:TRUE \
    -addext keyUsage=critical,keyCertSign,cRLSign
q req -x509 -new -key other.key -out other.pem -days 3650 -subj /CN=OtherCA
leaf() { # name, subject, extensions, further options
    local name=$1 subject=$2 extensions=$3 key=${KEY:-leaf}
    shift 3
    cp $key.key $name.key
    q req -new -key $name.key -out $name.csr -subj "$subject"
    printf "$extensions" >$name.ext
    q x509 -req -in $name.csr -CA ${CA:-ca}.pem -CAkey ${CAKEY:-${CA:-ca}}.key -set_serial $RANDOM$RANDOM -out $name.crt -extfile $name.ext "$@"
    cat $name.crt ${CHAIN:-} >$name.pem
}
names='subjectAltName=DNS:localhost,IP:127.0.0.1\n'
leaf good /CN=localhost "$names" -days 100
leaf wronghost /CN=example.org 'subjectAltName=DNS:example.org\n' -days 100
leaf cnonly /CN=localhost 'keyUsage=digitalSignature\n' -days 100
leaf cnip /CN=127.0.0.1 'keyUsage=digitalSignature\n' -days 100
leaf cnwithsan /CN=localhost 'subjectAltName=DNS:example.org\n' -days 100
leaf dnsip /CN=x 'subjectAltName=DNS:127.0.0.1\n' -days 100
leaf wild /CN=x 'subjectAltName=DNS:*\n' -days 100
leaf wildpart /CN=x 'subjectAltName=DNS:local*\n' -days 100
leaf emailonly /CN=localhost 'subjectAltName=email:a@b.c\n' -days 100
leaf clienteku /CN=localhost "$names"'extendedKeyUsage=clientAuth\n' -days 100
leaf codesign /CN=localhost "$names"'extendedKeyUsage=codeSigning\n' -days 100
leaf critical /CN=localhost "$names"'1.2.3.4=critical,DER:0500\n' -days 100
leaf sha1 /CN=localhost "$names" -days 100 -sha1
leaf md5 /CN=localhost "$names" -days 100 -md5
KEY=short leaf rsa1024 /CN=localhost "$names" -days 100
KEY=shorter leaf rsa512 /CN=localhost "$names" -days 100
KEY=ec leaf ecdsa /CN=localhost "$names" -days 100
CA=other leaf unknownca /CN=localhost "$names" -days 100
cp leaf.key selfsigned.key
q req -x509 -new -key leaf.key -out selfsigned.pem -days 100 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1
mkdir db
: >db/i
echo 1000 >db/s
cat >ca.cnf <<'END'
[ca]
default_ca=d
[d]
database=db/i
serial=db/s
new_certs_dir=db
default_md=sha256
policy=p
unique_subject=no
[p]
commonName=supplied
[e]
subjectAltName=DNS:localhost,IP:127.0.0.1
[ic]
basicConstraints=critical,CA:TRUE
[nc]
basicConstraints=critical,CA:TRUE
nameConstraints=critical,permitted;DNS:example.org,permitted;IP:10.0.0.0/255.0.0.0
[pl]
basicConstraints=critical,CA:TRUE,pathlen:0
[nca]
basicConstraints=critical,CA:FALSE
END
dated() { # name, key, subject, start, end, section
    cp $2.key $1.key
    q req -new -key $1.key -out $1.csr -subj $3
    q ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in $1.csr -out $1.pem -notext -startdate $4 -enddate $5 -extensions $6
}
dated expired leaf /CN=localhost 20200101000000Z 20210101000000Z e
dated future leaf /CN=localhost 20450101000000Z 20460101000000Z e
between() { # name, section, start, end
    dated i_$1 middle /CN=Inter_$1 $3 $4 $2
    CA=i_$1 CHAIN=i_$1.pem leaf $1 /CN=localhost "$names" -days 100
}
between viainter ic 20250101000000Z 20450101000000Z
between expinter ic 20200101000000Z 20210101000000Z
between nameconstr nc 20250101000000Z 20450101000000Z
between noca nca 20250101000000Z 20450101000000Z
cp viainter.key nochain.key
cp viainter.crt nochain.pem
dated i_pl0 middle /CN=Inter_pl0 20250101000000Z 20450101000000Z pl
cp other.key i2.key
q req -new -key i2.key -out i2.csr -subj /CN=Inter2
printf 'basicConstraints=critical,CA:TRUE\n' >i2.ext
q x509 -req -in i2.csr -CA i_pl0.pem -CAkey i_pl0.key -set_serial 77 -out i2.pem -extfile i2.ext -days 100
cat i2.pem i_pl0.pem >i2chain.pem
CA=i2 CHAIN=i2chain.pem leaf pathlen /CN=localhost "$names" -days 100
