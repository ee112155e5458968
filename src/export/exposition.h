/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_EXPOSITION_H
#define EXPORT_EXPOSITION_H

/* exposition - metrics as the text that Prometheus reads (format 0.0.4)
 *
 * HELP and TYPE stand once before all samples of a metric, whatever the caller says: a metric
 * without a sample does not appear at all. Labels are escaped; names are the caller's to get right.
 *
 * Order of calls:  (metric, (label*, sample)*)*
 */

#include <stdint.h>

#include "base/text.h"

struct exposition {
    struct text *out;
    const char *name, *type, *help; /* of the metric that is under way */
    struct text labels;             /* of the next sample */
    bool has_head;                  /* its HELP and TYPE are written */
};

/* type: "gauge", "counter", "histogram" ... */
void exposition_metric(struct exposition *exposition, const char *name, const char *type,
                       const char *help);
/* An empty value is left out: to Prometheus both are the same. */
void exposition_label(struct exposition *exposition, const char *name, const char *value);
void exposition_label_number(struct exposition *exposition, const char *name, uint64_t value);
/* Labels that were written before, "a=\"b\",c=\"d\"". */
void exposition_labels(struct exposition *exposition, const struct text *labels);
/* Takes the labels. Whole numbers are written as such. */
void exposition_sample(struct exposition *exposition, double value);
void exposition_release(struct exposition *exposition);

#endif
