/* SPDX-License-Identifier: Apache-2.0 */
/* import kueue, import volcano: from files of Kubernetes, or from the cluster of kubectl. */
#include "cli/cmd/import_source.h"
#include "wire/kube/kueue_import.h"
#include "wire/kube/volcano_import.h"

static int read_file(struct importing *importing, struct kube_queues *queues, const char *path,
                     struct error *err)
{
    const char *name, *text;

    int code = import_read(importing, path, &name, &text, err);
    return code < 0 ? code : kube_objects_read(&queues->objects, name, text, err);
}

static int ask_cluster(struct importing *importing, struct kube_queues *queues, const char *kinds,
                       struct error *err)
{
    AUTO_FREE char *command =
        mem_printf("kubectl get --all-namespaces --ignore-not-found -o yaml %s", kinds);
    struct text text = { 0 };

    int code = import_ask(command, &text, err);
    const char *kept = import_keep(importing, text_take(&text));
    if (code < 0)
        return error_prefix(err, code, "no FILE is given, and the cluster does not answer");
    return kube_objects_read(&queues->objects, "kubectl", kept, err);
}

static int import(struct importing *importing, const char *kinds,
                  void (*make)(struct kube_queues *queues, struct text *config), struct error *err)
{
    struct kube_queues queues = { .report = &importing->report, .err = err };
    const struct options *given = importing->given;
    int code = given->word_count > 1 ? 0 : ask_cluster(importing, &queues, kinds, err);

    for (size_t i = 1; i < given->word_count && code == 0; i++)
        code = read_file(importing, &queues, given->words[i], err);
    if (code == 0) {
        make(&queues, &importing->config);
        code = queues.code;
    }
    kube_queues_release(&queues);
    return code;
}

int import_kueue(struct importing *importing, struct error *err)
{
    return import(importing,
                  "clusterqueues.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,"
                  "resourceflavors.kueue.x-k8s.io,cohorts.kueue.x-k8s.io,"
                  "workloadpriorityclasses.kueue.x-k8s.io",
                  kueue_import, err);
}

int import_volcano(struct importing *importing, struct error *err)
{
    return import(importing, "queues.scheduling.volcano.sh", volcano_import, err);
}
