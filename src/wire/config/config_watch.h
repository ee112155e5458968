/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_WATCH_H
#define WIRE_CONFIG_CONFIG_WATCH_H

/* config_watch - the keys idle, memory_grace, health and alerts of a configuration
 *
 *   idle: {warn: 30m, stop: 2h, action: requeue, dry_run: true, exempt: [interactive, ana]}
 *   memory_grace: 60s
 *   affinity: near
 *   health: {jobs: able, before: "/usr/sbin/check-gpu --fast", after: /usr/sbin/check-gpu,
 *            timeout: 30s}
 *   alerts: {command: /usr/local/bin/page, webhook: "https://...", mail: [ops@example.org],
 *            mail_server: "smtp://localhost", repeat: 4h,
 *            silence: [{fault: ecc-storm, uuid: GPU-1, until: 2030-01-31T08:00}]}
 *
 * Fails with -EINVAL and where.
 */

#include <jansson.h>

#include "core/health/watch_rules.h"
#include "wire/reader.h"

/* Those that are not there leave what they say at nothing. */
int config_watch_read(const struct reader *reader, const json_t *document, struct watch_rules *ret);
/* The same keys, into a document; none where nothing is said. */
void config_watch_to_json(const struct watch_rules *rules, json_t *document);

#endif
