/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/whatif and POST /v1/rehearsal: questions that another process answers. */
#include <errno.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "control/config/configure.h"
#include "control/config/scenario.h"
#include "wire/config/config.h"
#include "wire/reader.h"
#include "wire/whatif_request.h"

enum { REHEARSAL_DAYS_MAX = 366 };

struct question {
    struct asked asked;
    struct whatif *whatif; /* NULL: a rehearsal */
};

static int change(struct api_study *study, const struct control *copy, struct error *err)
{
    const struct question *question = CONTAINER_OF(study, struct question, asked.study);

    return scenario_apply(copy, question->whatif, study->who, err);
}

static void release_question(struct asked *asked)
{
    struct question *question = CONTAINER_OF(asked, struct question, asked);

    whatif_destroy(question->whatif);
    json_decref(asked->study.old_config);
    json_decref(asked->study.new_config);
}

/* What the answer leaves out. */
static const char *note_of(const struct whatif *whatif)
{
    for (size_t i = 0; i < whatif->node_count; i++) {
        if (whatif->nodes[i].is_spot)
            return "spot nodes are assumed to stay: their interruption rate is not known";
    }
    return NULL;
}

json_t *handle_whatif(struct call *call)
{
    struct question *question = asked_create(call, sizeof(*question), release_question);
    struct api_study *study = &question->asked.study;

    int code = read_body(call);
    if (code == 0)
        code = whatif_parse(call->body, &question->whatif, &call->err);
    if (code == 0) {
        study->change = change;
        study->shown = question->whatif->shown;
        study->note = note_of(question->whatif);
        study->rate = scenario_rate(api_state(call->api), question->whatif);
    }
    return asked_begin(call, &question->asked, code);
}

static int read_rehearsal(struct question *question, const json_t *body, struct error *err)
{
    static const char *const keys[] = { "config", "last", "shown", NULL };
    struct reader reader = { .where = "rehearsal", .err = err };
    const struct state *state = api_state(question->asked.api);
    AUTO(config) struct config *old = config_of_state(state);
    AUTO(config) struct config *new = NULL;
    struct api_study *study = &question->asked.study;
    int64_t shown = WHATIF_SHOWN;

    study->last = 7 * USEC_PER_DAY;
    int code = reader_check_keys(&reader, body, keys);
    if (code == 0)
        code = reader_duration(&reader, body, "last", &study->last);
    if (code == 0 && (study->last <= 0 || study->last > REHEARSAL_DAYS_MAX * USEC_PER_DAY))
        code = reader_fail(&reader, -ERANGE, body, "last", "expected up to %d days, like 7d",
                           REHEARSAL_DAYS_MAX);
    if (code == 0)
        code = reader_integer(&reader, body, "shown", 0, WHATIF_SHOWN_MAX, &shown);
    if (code == 0)
        code = config_parse(reader_get(body, "config"), NULL, NULL, &new, err);
    if (code == 0)
        code = configure_settle(new, err);
    if (code == 0)
        code = configure_check(state, new, err);
    if (code < 0)
        return code;
    study->shown = (uint32_t)shown;
    study->old_config = config_to_json(old);
    study->new_config = config_to_json(new);
    if (!study->who->is_admin)
        study->hides_from = study->who->name;
    return 0;
}

json_t *handle_rehearsal(struct call *call)
{
    struct question *question = asked_create(call, sizeof(*question), release_question);

    int code = read_body(call);
    if (code == 0)
        code = read_rehearsal(question, call->body, &call->err);
    return asked_begin(call, &question->asked, code);
}
