/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SCENE_H
#define TESTS_SIM_SCENE_H

/* scene - what the tests of sim share: files that go away again, and experiments from text */

#include "sim/report/result.h"
#include "sim/run/run.h"

/* The path of a new file with this content; good until the next call. */
const char *scene_file(const char *content, size_t length);
void scene_clean(void);

/* Read content as a file of a format. */
int scene_read(const char *format, const char *content, bool skip_bad, struct workload *workload,
               struct error *err);

/* Run an experiment of one variant, its first seed or a slice; the result, new reference. */
json_t *scene_run(const char *yaml, int64_t slice);
/* The same, but it may be refused. */
int scene_try(const char *yaml, int64_t slice, json_t **ret, struct error *err);

/* "wait.mean" of a result. */
double scene_number(const json_t *result, const char *path);

#endif
