/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_ACCESS_H
#define ENGINE_KUBE_CLIENT_KUBE_ACCESS_H

/* kube_access - where the API server is, and the credentials for it
 *
 * In this order: the kubeconfig file that the configuration names, $KUBECONFIG (the first file that
 * exists), the service account of the pod that this program runs in, ~/.kube/config. A token that
 * comes from a file or a program (exec plugin) is read again before it expires.
 *
 * Owner: the caller. After kube_access_open(), only one thread may use it.
 */

#include "base/compiler.h"
#include "base/error.h"

struct kube_access;

/* path: "": search as above. Fails with -ENOENT or -EINVAL and names the file. */
int kube_access_open(const char *path, struct kube_access **ret, struct error *err);
/* One with which every request fails for this reason. */
struct kube_access *kube_access_refuse(const struct error *why);
void kube_access_destroy(struct kube_access *access); /* NULL is fine */
DEFINE_AUTO(kube_access)

/* "https://127.0.0.1:6443", without a slash at its end. */
const char *kube_access_server(const struct kube_access *access);
/* The namespace of the context or of this pod; "default" without one. */
const char *kube_access_namespace(const struct kube_access *access);

/* Set TLS and client certificates of a libcurl handle. */
void kube_access_apply(const struct kube_access *access, void *easy);
/* "Authorization: Bearer …"; NULL: none is needed. Valid until the next call. May run the exec
 * plugin, which may block. Fails with -EACCES. */
int kube_access_header(struct kube_access *access, const char **ret, struct error *err);
/* The API server refused the credentials: do not use them again. */
void kube_access_renew(struct kube_access *access);

#endif
