/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_NAMES_H
#define ENGINE_KUBE_KUBE_NAMES_H

/* kube_names - tarn's own labels, annotations and names in the Kubernetes API
 *
 * Documented for users in doc/engines/kubernetes.md.
 */

#define KUBE_PREFIX    "tarn.dev/"
#define KUBE_SCHEDULER "tarn"

/* Label of devices, but those of nvidia.com/gpu and MIG: which device plugin offers them. */
#define KUBE_PLUGIN "plugin"

/* Label of a namespace whose pods are tarn's, "true" (dist/kube). */
#define KUBE_MANAGED KUBE_PREFIX "managed"

/* Of a pod or a Job. */
#define KUBE_QUEUE       KUBE_PREFIX "queue" /* label: the queue; as a gate: waits for tarn */
#define KUBE_GANG        KUBE_PREFIX "gang"  /* label: pods of one namespace that start together */
#define KUBE_GANG_SIZE   KUBE_PREFIX "gang-size"  /* annotation: how many */
#define KUBE_ESTIMATE    KUBE_PREFIX "estimate"   /* annotation: expected run time */
#define KUBE_CHECKPOINT  KUBE_PREFIX "checkpoint" /* annotation: how often it saves its work */
#define KUBE_SHARE       KUBE_PREFIX "share" /* annotation: a part of a GPU, "0.5", "mem=20G" */
#define KUBE_PREEMPTIBLE KUBE_PREFIX "preemptible" /* annotation: "true", "false" */

/* Set by tarn, in the request that binds the pod. */
#define KUBE_JOB     KUBE_PREFIX "job"     /* annotation: the job of tarn */
#define KUBE_ATTEMPT KUBE_PREFIX "attempt" /* annotation: INSTANCE/JOB.ATTEMPT/RANK */
#define KUBE_GPUS    KUBE_PREFIX "gpus"    /* annotation: the chosen GPUs */
/* annotation: when tarn last made sure whether it is bound */
#define KUBE_CHECKED KUBE_PREFIX "checked"
/* annotation, of a suspended workload: why it waits */
#define KUBE_WAITS KUBE_PREFIX "waits"
/* annotation: the arrival that the pod belongs to */
#define KUBE_ARRIVAL KUBE_PREFIX "arrival"
/* annotation, of tarn's own jobs: the file that gets the output */
#define KUBE_OUTPUT KUBE_PREFIX "output"
/* Set by tarn on a node with a faulty GPU: taint, and annotation with the reason. */
#define KUBE_FAULT KUBE_PREFIX "gpu-fault"
/* Set by tarn on what it stopped: annotation with the reason. */
#define KUBE_STOPPED KUBE_PREFIX "stopped"

/* Of Kubernetes: autoscalers add nodes for pods whose condition PodScheduled has this reason. */
#define KUBE_UNSCHEDULABLE "Unschedulable"

#endif
