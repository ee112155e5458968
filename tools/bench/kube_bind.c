/* SPDX-License-Identifier: Apache-2.0 */
/* kube_bind URL CA TOKEN CONNECTIONS: what an API server can do at most. Binds pods as fast as it
 * answers: lines "NAMESPACE POD NODE" on standard input, all read before the first one. Prints the
 * seconds. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_SIZE = 1024, PODS_MAX = 100000 };

struct binding {
    char url[512], body[512];
};

static struct binding *bindings;
static size_t count, next, failed;
static struct curl_slist *headers;

static size_t ignore(char *bytes, size_t size, size_t items, void *user)
{
    (void)bytes;
    (void)user;
    return size * items;
}

static void read_all(const char *server)
{
    char line[LINE_SIZE], space[128], pod[128], node[128];

    bindings = calloc(PODS_MAX, sizeof(*bindings));
    while (bindings && count < PODS_MAX && fgets(line, sizeof(line), stdin) &&
           sscanf(line, "%127s %127s %127s", space, pod, node) == 3) {
        struct binding *binding = &bindings[count++];
        snprintf(binding->url, sizeof(binding->url), "%.200s/api/v1/namespaces/%s/pods/%s/binding",
                 server, space, pod);
        snprintf(binding->body, sizeof(binding->body),
                 "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\"},"
                 "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
                 pod, node);
    }
}

static CURL *handle_create(const char *ca)
{
    CURL *easy = curl_easy_init();

    curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    return easy;
}

/* The next one, if there is one. */
static void begin(CURLM *multi, CURL *easy)
{
    if (next == count)
        return;
    const struct binding *binding = &bindings[next++];
    curl_easy_setopt(easy, CURLOPT_URL, binding->url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, binding->body);
    curl_multi_add_handle(multi, easy);
}

static void bind_all(CURLM *multi)
{
    int running = 1, left;

    while (running > 0) {
        curl_multi_perform(multi, &running);
        for (CURLMsg *done; (done = curl_multi_info_read(multi, &left));) {
            CURL *easy = done->easy_handle;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            failed += status != 201;
            curl_multi_remove_handle(multi, easy);
            begin(multi, easy);
            running = 1;
        }
        if (running > 0)
            curl_multi_wait(multi, NULL, 0, 100, NULL);
    }
}

int main(int argc, char **argv)
{
    struct timespec first, last;
    char authorization[512];

    if (argc != 5) {
        fprintf(stderr, "usage: kube_bind URL CA TOKEN CONNECTIONS < PODS\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    snprintf(authorization, sizeof(authorization), "Authorization: Bearer %.400s", argv[3]);
    headers = curl_slist_append(NULL, authorization);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "User-Agent: kube_bind");
    read_all(argv[1]);
    CURLM *multi = curl_multi_init();
    for (long i = strtol(argv[4], NULL, 10); i > 0; i--)
        begin(multi, handle_create(argv[2]));
    clock_gettime(CLOCK_MONOTONIC, &first);
    bind_all(multi);
    clock_gettime(CLOCK_MONOTONIC, &last);
    printf("%.3f\n",
           (double)(last.tv_sec - first.tv_sec) + (double)(last.tv_nsec - first.tv_nsec) / 1e9);
    if (failed > 0)
        fprintf(stderr, "kube_bind: %zu of %zu bindings failed\n", failed, count);
    return failed > 0;
}
