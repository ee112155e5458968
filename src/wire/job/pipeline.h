/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_PIPELINE_H
#define WIRE_JOB_PIPELINE_H

/* pipeline - the edges between the stages of a submission
 *
 * Only submission.c uses this.
 */

#include "wire/job/submission.h"
#include "wire/reader.h"

struct pipeline_source {
    struct reader reader;
    const json_t *object;
};

/* Read "needs" of every stage (sources in the order of the stages), check that there is no cycle
 * and that each input comes from a needed stage, and put the stages in order. */
int pipeline_link(struct submission *submission, const struct pipeline_source *sources);

#endif
