/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "io/log.h"

enum { FILE_MAX = 1 << 20, CHAIN_MAX = 10, YEARS = 10, SERIAL_SIZE = 16, HASH_SIZE = 32 };

/* A certificate with its chain, and its key. */
struct pair {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
};

/* GnuTLS passes no pointer of ours to the function that it asks. */
static struct {
    char *certificate, *key;
    struct timespec changed[2];
    struct pair pair;
} served;

static int failed(int code, const char *what, struct error *err)
{
    return error_set(err, -EBADMSG, "tls: %s: %s", what, gnutls_strerror(code));
}

static void pair_release(struct pair *pair)
{
    for (unsigned i = 0; i < pair->count; i++)
        gnutls_pcert_deinit(&pair->chain[i]);
    if (pair->key)
        gnutls_privkey_deinit(pair->key);
    *pair = (struct pair){ 0 };
}

static int key_read(const char *path, gnutls_privkey_t *ret, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct stat info;

    if (stat(path, &info) == 0 && (info.st_mode & 0077) != 0)
        return error_set(err, -EPERM, "tls: %s: others can read the key; try: chmod 600 %s", path,
                         path);
    int code = file_read(path, FILE_MAX, &bytes, err);
    if (code < 0)
        return code;
    gnutls_datum_t data = { (unsigned char *)bytes.bytes, (unsigned)bytes.length };
    gnutls_privkey_init(ret);
    code = gnutls_privkey_import_x509_raw(*ret, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    explicit_bzero(bytes.bytes, bytes.length);
    return code < 0 ? failed(code, path, err) : 0;
}

static int chain_read(const char *path, struct pair *pair, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    unsigned count = CHAIN_MAX;

    int code = file_read(path, FILE_MAX, &bytes, err);
    if (code < 0)
        return code;
    gnutls_datum_t data = { (unsigned char *)bytes.bytes, (unsigned)bytes.length };
    code = gnutls_pcert_list_import_x509_raw(pair->chain, &count, &data, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0)
        return failed(code, path, err);
    pair->count = count;
    return 0;
}

static int pair_check(const struct pair *pair, const char *path, struct error *err)
{
    gnutls_pubkey_t public;
    unsigned char ids[2][64];
    size_t sizes[2] = { sizeof(ids[0]), sizeof(ids[1]) };

    gnutls_pubkey_init(&public);
    int code = gnutls_pubkey_import_privkey(public, pair->key, 0, 0);
    if (code == 0)
        code = gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[0], &sizes[0]);
    if (code == 0)
        code = gnutls_pubkey_get_key_id(pair->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, ids[1],
                                        &sizes[1]);
    gnutls_pubkey_deinit(public);
    if (code < 0)
        return failed(code, path, err);
    return sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0
               ? 0
               : error_set(err, -EBADMSG, "tls: %s: the key is not that of the certificate", path);
}

static int pair_read(const char *certificate, const char *key, struct pair *ret, struct error *err)
{
    *ret = (struct pair){ 0 };
    int code = chain_read(certificate, ret, err);
    if (code == 0)
        code = key_read(key, &ret->key, err);
    if (code == 0)
        code = pair_check(ret, key, err);
    if (code < 0)
        pair_release(ret);
    return code;
}

static void note_times(const char *certificate, const char *key, struct timespec times[2])
{
    struct stat info;

    times[0] = stat(certificate, &info) == 0 ? info.st_mtim : (struct timespec){ 0 };
    times[1] = stat(key, &info) == 0 ? info.st_mtim : (struct timespec){ 0 };
}

int tls_load(const char *certificate, const char *key, struct error *err)
{
    struct pair pair;

    int code = pair_read(certificate, key, &pair, err);
    if (code < 0)
        return code;
    pair_release(&served.pair);
    served.pair = pair;
    free(served.certificate);
    free(served.key);
    served.certificate = mem_string(certificate);
    served.key = mem_string(key);
    note_times(certificate, key, served.changed);
    return 0;
}

void tls_unload(void)
{
    pair_release(&served.pair);
    free(served.certificate);
    free(served.key);
    served.certificate = served.key = NULL;
}

/* One that was tried and is wrong is tried again when it changes again. */
static void renew(void)
{
    struct timespec changed[2];
    struct pair pair;
    struct error err;

    note_times(served.certificate, served.key, changed);
    if (memcmp(changed, served.changed, sizeof(changed)) == 0)
        return;
    memcpy(served.changed, changed, sizeof(changed));
    if (pair_read(served.certificate, served.key, &pair, &err) < 0) {
        log_line(LOG_WARNING, "the former certificate stays in use reason='%s'", err.text);
        return;
    }
    pair_release(&served.pair);
    served.pair = pair;
    log_line(LOG_INFO, "certificate read again path='%s'", served.certificate);
}

static int retrieve(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **ret, unsigned *ret_count, gnutls_privkey_t *ret_key)
{
    (void)session;
    (void)names;
    (void)name_count;
    (void)algorithms;
    (void)algorithm_count;
    renew();
    *ret = served.pair.chain;
    *ret_count = served.pair.count;
    *ret_key = served.pair.key;
    return 0;
}

void *tls_retrieve(void)
{
    int (*function)(gnutls_session_t, const gnutls_datum_t *, int, const gnutls_pk_algorithm_t *,
                    int, gnutls_pcert_st **, unsigned *, gnutls_privkey_t *) = retrieve;
    void *ret;

    memcpy(&ret, &function, sizeof(ret));
    return ret;
}

bool tls_names(const char *host)
{
    gnutls_x509_crt_t leaf;

    if (served.pair.count == 0)
        return false;
    gnutls_x509_crt_init(&leaf);
    bool has = gnutls_x509_crt_import(leaf, &served.pair.chain[0].cert, GNUTLS_X509_FMT_DER) == 0 &&
               gnutls_x509_crt_check_hostname(leaf, host);
    gnutls_x509_crt_deinit(leaf);
    return has;
}

void tls_fingerprint(char ret[TLS_FINGERPRINT_SIZE])
{
    unsigned char hash[HASH_SIZE];
    const gnutls_datum_t *bytes = &served.pair.chain[0].cert;

    gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes->data, bytes->size, hash);
    strcpy(ret, "sha256:");
    for (size_t i = 0; i < HASH_SIZE; i++)
        snprintf(ret + 7 + 2 * i, 3, "%02x", hash[i]);
}

/* ---- a certificate of our own ---- */

static int describe(gnutls_x509_crt_t made, gnutls_x509_privkey_t key)
{
    char host[256] = "localhost";
    unsigned char serial[SERIAL_SIZE];
    time_t now = time(NULL);

    gethostname(host, sizeof(host) - 1);
    int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));
    serial[0] &= 0x7f; /* a serial number is positive */
    if (code == 0)
        code = gnutls_x509_crt_set_version(made, 3);
    if (code == 0)
        code = gnutls_x509_crt_set_serial(made, serial, sizeof(serial));
    if (code == 0)
        code = gnutls_x509_crt_set_dn_by_oid(made, GNUTLS_OID_X520_COMMON_NAME, 0, host,
                                             (unsigned)strnlen(host, 64));
    if (code == 0)
        code = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_DNSNAME, host,
                                                    (unsigned)strlen(host), GNUTLS_FSAN_SET);
    if (code == 0)
        code = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_DNSNAME, "localhost", 9,
                                                    GNUTLS_FSAN_APPEND);
    if (code == 0)
        code = gnutls_x509_crt_set_activation_time(made, now - 24 * 3600);
    if (code == 0)
        code = gnutls_x509_crt_set_expiration_time(made, now + (time_t)YEARS * 365 * 24 * 3600);
    if (code == 0)
        code = gnutls_x509_crt_set_basic_constraints(made, 0, -1);
    if (code == 0)
        code = gnutls_x509_crt_set_key_usage(made, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (code == 0)
        code = gnutls_x509_crt_set_key(made, key);
    return code < 0 ? code : gnutls_x509_crt_sign2(made, made, key, GNUTLS_DIG_SHA256, 0);
}

static int make_pair(gnutls_datum_t *ret_certificate, gnutls_datum_t *ret_key)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t made;

    gnutls_x509_privkey_init(&key);
    gnutls_x509_crt_init(&made);
    int code = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (code == 0)
        code = describe(made, key);
    if (code == 0)
        code = gnutls_x509_crt_export2(made, GNUTLS_X509_FMT_PEM, ret_certificate);
    if (code == 0)
        code = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, ret_key);
    gnutls_x509_crt_deinit(made);
    gnutls_x509_privkey_deinit(key);
    return code;
}

static int save(const char *path, mode_t mode, const gnutls_datum_t *bytes, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    bool is_written = fd >= 0 && write(fd, bytes->data, bytes->size) == (ssize_t)bytes->size;
    int code = is_written ? 0 : error_set(err, -errno, "tls: %s: %s", path, strerror(errno));

    if (fd >= 0)
        close(fd);
    return code;
}

int tls_make(const char *certificate, const char *key, struct error *err)
{
    gnutls_datum_t bytes[2] = { 0 };

    if (access(certificate, F_OK) == 0 && access(key, F_OK) == 0)
        return 0;
    unlink(certificate);
    unlink(key);
    int code = make_pair(&bytes[0], &bytes[1]);
    if (code < 0)
        code = failed(code, certificate, err);
    if (code == 0)
        code = save(key, 0600, &bytes[1], err);
    if (code == 0)
        code = save(certificate, 0644, &bytes[0], err);
    if (bytes[1].data)
        explicit_bzero(bytes[1].data, bytes[1].size);
    gnutls_free(bytes[0].data);
    gnutls_free(bytes[1].data);
    return code;
}
