/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CHOICE_VIEW_H
#define CLI_CHOICE_VIEW_H

/* choice_view - the table of the models that a job may have, best first */

#include <jansson.h>

/* Print the reply of POST /v1/choose: a table, and a line about the rule. */
void choice_print(const json_t *reply);

#endif
