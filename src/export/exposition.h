/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_EXPOSITION_H
#define EXPORT_EXPOSITION_H

/* exposition - metrics as the text that Prometheus reads (format 0.0.4)
 *
 * HELP and TYPE appear once before all samples of a metric; a metric without samples does not
 * appear at all. Labels are escaped; the caller passes valid names.
 *
 * Order of calls:  (metric, (label*, sample)*)*
 */

#include <stdint.h>

#include "base/text.h"

struct exposition {
    struct text *out;
    const char *name, *type, *help; /* of the current metric */
    struct text labels;             /* of the next sample; their owner releases them */
    bool has_head;                  /* its HELP and TYPE are written */
};

/* type: "gauge", "counter", "histogram" ... */
void exposition_metric(struct exposition *exposition, const char *name, const char *type,
                       const char *help);
/* Omits an empty value: to Prometheus both are the same. */
void exposition_label(struct exposition *exposition, const char *name, const char *value);
void exposition_label_number(struct exposition *exposition, const char *name, uint64_t value);
/* Labels that were written before, "a=\"b\",c=\"d\"". */
void exposition_labels(struct exposition *exposition, const struct text *labels);
/* Consumes the labels. Writes whole numbers without a fraction. */
void exposition_sample(struct exposition *exposition, double value);

#endif
