/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config_keys.h"

struct config *config_create(void)
{
    struct config *config = mem_zero(1, sizeof(*config));

    config->ops = setting_ops;
    config->timezone = "";
    settings_default(&config->settings);
    return config;
}

/* ---- settings ---- */

/* A minute is rarely meant where just a number is said: "30" is not enough to say seconds. */
static int check_idle(const struct reader *above, const json_t *idle,
                      const struct watch_rules *rules)
{
    const char *warn = json_string_value(reader_get(idle, "warn"));
    bool has_unit = warn && warn[0] && warn[strlen(warn) - 1] == 's';
    const struct reader reader = reader_at(above, "idle");

    if (rules->idle_warn > 0 && rules->idle_warn < WATCH_IDLE_LEAST_S * USEC_PER_SEC && !has_unit)
        return reader_fail(&reader, -EINVAL, idle, "warn",
                           "expected at least a minute, or seconds with their unit, like 30s");
    if (rules->idle_stop > 0 && rules->idle_warn == 0)
        return reader_fail(&reader, -EINVAL, idle, "stop",
                           "a job is not stopped without a warning; expected warn: TIME as well");
    if (rules->idle_stop > 0 && rules->idle_stop < rules->idle_warn + watch_idle_least(rules))
        return reader_fail(&reader, -EINVAL, idle, "stop",
                           "expected at least a minute more than warn; with warn below a minute, "
                           "at least twice warn");
    if (rules->idle_action != IDLE_WARN && rules->idle_stop == 0)
        return reader_fail(&reader, -EINVAL, idle, "action",
                           "no effect without stop; expected stop: TIME as well");
    return 0;
}

static int check_slurm(const struct reader *above, const json_t *slurm,
                       const struct watch_rules *rules)
{
    const struct reader reader = reader_at(above, "slurm");

    if (rules->slurm_adopt && rules->slurm_mode == SLURM_MODE_ALLOCATION)
        return reader_fail(&reader, -EINVAL, slurm, "adopt",
                           "no effect with mode: allocation; expected mode: job, or no adopt");
    if (rules->slurm_adopt && !rules->slurm_partition[0])
        return reader_fail(&reader, -EINVAL, slurm, "adopt",
                           "no effect without a partition; expected partition: NAME as well");
    if (rules->slurm_nodes_min > rules->slurm_nodes_max)
        return reader_fail(&reader, -EINVAL, slurm, "min",
                           "%" PRIu32 " is more than max, which is %" PRId64
                           "; expected at most that",
                           rules->slurm_nodes_min, rules->slurm_nodes_max);
    return 0;
}

static int read_settings(struct config *config, const struct reader *reader, const json_t *document)
{
    struct watch_rules *rules = &config->settings.watch;
    const json_t *idle = reader_get(document, "idle"), *health = reader_get(document, "health");

    int code = keys_read(config, reader, document, KEYS_SETTINGS, &config->settings);
    if (code < 0)
        return code;
    /* The default order goes by predicted run times, the others by what was asked for. */
    config->has_predict |= reader_get(document, "predict") != NULL;
    if (!config->has_predict)
        config->settings.predict = config->settings.order == ORDER_DEFAULT;
    if (json_is_object(idle)) {
        if (!reader_get(idle, "action"))
            rules->idle_action = rules->idle_stop > 0 ? IDLE_CANCEL : IDLE_WARN;
        code = check_idle(reader, idle, rules);
    }
    if (code == 0)
        code = check_slurm(reader, reader_get(document, "slurm"), rules);
    if (code < 0 || !reader_get(health, "timeout") || rules->health_before[0] ||
        rules->health_after[0])
        return code;
    const struct reader inner = reader_at(reader, "health");
    return reader_fail(
        &inner, -EINVAL, health, "timeout",
        "no effect without a command; expected before: COMMAND or after: COMMAND as well");
}

int config_read_policy(struct config *config, const struct reader *reader, const json_t *object,
                       const char *also)
{
    const char *names[KEYS_MAX];
    size_t count = 0;

    keys_names(KEYS_SETTINGS, NULL, names);
    while (strcmp(names[count], "idle") != 0) /* from there on: what is watched */
        count++;
    names[count] = also;
    names[count + 1] = NULL;
    int code = reader_check_keys(reader, object, names);
    return code < 0 ? code : read_settings(config, reader, object);
}

int config_read(const json_t *document, const struct yaml_lines *lines, const char *source,
                struct config **ret, struct error *err)
{
    AUTO(config) struct config *config = config_create();
    struct reader reader = { .source = source, .lines = lines, .err = err };

    int code = times_read_windows(config, &reader, document);
    if (code == 0)
        code = keys_read(config, &reader, document, KEYS_TOP, config);
    if (code == 0)
        code = read_settings(config, &reader, document);
    if (code == 0)
        *ret = TAKE(config);
    return code;
}

int config_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                 struct config **ret, struct error *err)
{
    struct reader reader = { .source = source, .lines = lines, .err = err };
    const char *names[2 * KEYS_MAX];

    if (json_is_null(document)) {
        *ret = config_create();
        return 0;
    }
    keys_names(KEYS_SETTINGS, NULL, names + keys_names(KEYS_TOP, NULL, names));
    int code = reader_check_keys(&reader, document, names);
    return code < 0 ? code : config_read(document, lines, source, ret, err);
}

json_t *config_to_json(const struct config *config)
{
    const struct settings *settings = &config->settings;
    json_t *document = keys_to_json(config, KEYS_TOP, config);

    json_object_update_new(document, keys_to_json(config, KEYS_SETTINGS, settings));
    /* Two whose defaults follow from other settings. */
    json_t *idle = json_object_get(document, "idle");
    if (!config->has_predict)
        json_object_del(document, "predict");
    if (settings->watch.idle_stop == 0)
        json_object_del(idle, "action");
    if (json_object_size(idle) == 0)
        json_object_del(document, "idle");
    return document;
}
