/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons that are about times and money, as sentences and as JSON. */
#include <inttypes.h>

#include "api/view/view.h"

/* "12.35": rounded up, so that a cost is never shown as 0. */
static void say_money(struct text *text, int64_t micro)
{
    int64_t cents = (micro + 9999) / 10000;

    text_printf(text, "%" PRId64 ".%02d", cents / 100, (int)(cents % 100));
}

static void say_in(const struct api *api, usec_t at, struct text *text)
{
    usec_t now = api_now(api);
    char left[UNITS_TEXT_SIZE];

    text_printf(text, "in %s", units_format_duration(left, at > now ? at - now : 0));
}

static const struct reservation *reservation_of(const struct state *state, const struct why *why)
{
    return why->window < state->agenda.reservations.count
               ? &state->agenda.reservations.items[why->window]
               : NULL;
}

/* When it opens or closes next. */
static usec_t edge_of(const struct api *api, const struct reservation *reservation,
                      bool *ret_is_open)
{
    const struct window *window = api_state(api)->agenda.windows.items[reservation->window];
    usec_t edge;

    *ret_is_open = window_at(window, api_now(api), &edge);
    return edge;
}

void say_reservation_name(const struct reservation *reservation, struct text *text)
{
    if (reservation->kind == RESERVATION_MAINTENANCE)
        text_printf(text, "maintenance %s", reservation->name);
    else
        text_printf(text, "reservation %s, for %s %s,", reservation->name,
                    reservation->kind == RESERVATION_QUEUE ? "queue" : "user", reservation->owner);
}

static void say_reservation(const struct api *api, const struct why *why, struct text *text)
{
    const struct reservation *reservation = reservation_of(api_state(api), why);
    bool is_open;

    if (!reservation) {
        text_add(text, why_meaning(why->kind));
        return;
    }
    usec_t edge = edge_of(api, reservation, &is_open);
    say_reservation_name(reservation, text);
    text_add(text, is_open ? " ends " : " begins ");
    say_in(api, edge, text);
    if (!is_open)
        text_add(text, ", and the job might still be running");
}

static void say_window(const struct api *api, const struct why *why, struct text *text)
{
    const struct state *state = api_state(api);
    const struct window *window = state->agenda.windows.items[why->window];
    bool is_open = window_at(window, api_now(api), NULL);

    text_printf(text, "queue %s may hold at most ", state->queues.items[why->queue].name);
    say_amount(state, text, why->resource, why->most);
    if (why->is_forever) {
        text_printf(text, " at times (%s)", window->name);
        return;
    }
    if (is_open && why->at == window_next_edge(window, api_now(api)) && why->free <= why->most) {
        text_printf(text, " during %s, which ends ", window->name);
        say_in(api, why->at, text);
        return;
    }
    text_printf(text, " when %s %s ", window->name, is_open ? "ends" : "begins");
    say_in(api, why->at, text);
    text_add(text, ", and the job might still be running");
}

static void say_tariff(const struct api *api, const struct why *why, struct text *text)
{
    char now[UNITS_TEXT_SIZE], wanted[UNITS_TEXT_SIZE];

    if (why->wanted == TARIFF_CHEAP)
        text_printf(text, "waits for cheaper hours: the tariff is %s now",
                    units_format_milli(now, why->free));
    else
        text_printf(text, "waits for a tariff of at most %s: it is %s now",
                    units_format_milli(wanted, why->wanted), units_format_milli(now, why->free));
    text_add(text, "; starts ");
    say_in(api, why->at, text);
    text_add(text, " at the latest");
}

static void say_spent(const struct why *why, int64_t amount, struct text *text)
{
    char buffer[UNITS_TEXT_SIZE];

    if (why->account == ACCOUNT_MONEY)
        say_money(text, amount);
    else
        text_printf(text, "%s gpu-hours",
                    units_format_milli(buffer, amount / (USEC_PER_HOUR / 1000)));
}

static void say_budget(const struct api *api, const struct why *why, struct text *text)
{
    const struct state *state = api_state(api);

    text_add(text, "budget of ");
    if (why->user > 0)
        text_printf(text, "user %s in ", state_user(state, why->user - 1));
    text_printf(text, "queue %s: ", state->queues.items[why->queue].name);
    say_spent(why, why->spent, text);
    text_add(text, " of ");
    say_spent(why, why->most, text);
    text_add(text, " spent, ");
    say_spent(why, why->committed, text);
    text_add(text, " more for running jobs; this job would cost ");
    say_spent(why, why->wanted, text);
    if (why_is_beyond_budget(why)) {
        text_add(text, ", more than the whole budget: it can never run within it");
        return;
    }
    if (why->at == USEC_NEVER)
        return;
    text_add(text, "; the next period begins ");
    say_in(api, why->at, text);
}

bool why_say_time(const struct api *api, const struct why *why, struct text *text)
{
    switch (why->kind) {
    case WHY_RESERVATION:
        say_reservation(api, why, text);
        return true;
    case WHY_WINDOW:
        say_window(api, why, text);
        return true;
    case WHY_TARIFF:
        say_tariff(api, why, text);
        return true;
    case WHY_BUDGET:
        say_budget(api, why, text);
        return true;
    default:
        return false;
    }
}

/* Money as a number, GPU-time in hours. */
static json_t *view_amount(const struct why *why, int64_t amount)
{
    return json_real(why->account == ACCOUNT_MONEY ? (double)amount / 1e6
                                                   : (double)amount / (double)USEC_PER_HOUR);
}

static json_t *view_reservation(const struct api *api, const struct why *why)
{
    const struct reservation *reservation = reservation_of(api_state(api), why);
    bool is_open;

    if (!reservation)
        return json_null();
    usec_t edge = edge_of(api, reservation, &is_open);
    return json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", reservation->name, "for",
                     reservation->kind == RESERVATION_MAINTENANCE ? "maintenance"
                     : reservation->kind == RESERVATION_QUEUE     ? "queue"
                                                                  : "user",
                     "owner", reservation->owner, "open", is_open, is_open ? "until" : "from",
                     view_edge(api, edge));
}

void view_why_time(const struct api *api, const struct why *why, json_t *view)
{
    const struct state *state = api_state(api);

    if (why->kind == WHY_RESERVATION)
        json_object_set_new(view, "reservation", view_reservation(api, why));
    if (why->kind == WHY_WINDOW)
        json_object_set_new(
            view, "window",
            json_pack("{s:s, s:s, s:b, s:o}", "name",
                      state->agenda.windows.items[why->window]->name, "queue",
                      state->queues.items[why->queue].name, "open",
                      window_at(state->agenda.windows.items[why->window], api_now(api), NULL),
                      "edge", view_edge(api, why->at)));
    if (why->kind == WHY_TARIFF)
        json_object_set_new(view, "tariff",
                            json_pack("{s:f, s:f, s:o}", "wanted", (double)why->wanted / 1000,
                                      "now", (double)why->free / 1000, "at",
                                      view_edge(api, why->at)));
    if (why->kind == WHY_BUDGET)
        json_object_set_new(
            view, "budget",
            json_pack("{s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "queue",
                      state->queues.items[why->queue].name, "user",
                      why->user > 0 ? state_user(state, why->user - 1) : NULL, "of",
                      why->account == ACCOUNT_MONEY ? "money" : "gpu_hours", "amount",
                      view_amount(why, why->most), "spent", view_amount(why, why->spent),
                      "committed", view_amount(why, why->committed), "wanted",
                      view_amount(why, why->wanted), "next_period", view_edge(api, why->at)));
}

static json_t *view_account(const struct api *api, const struct account *account,
                            enum account_kind kind)
{
    const struct why unit = { .account = (uint8_t)kind };
    static const char *const words[] = { "soft", "hard", "kill" };
    const struct window *window =
        account->window > 0 ? api_state(api)->agenda.windows.items[account->window - 1] : NULL;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:s}", "amount",
        account->most == ACCOUNT_NO_BUDGET ? json_null() : view_amount(&unit, account->most),
        "spent", view_amount(&unit, account->spent), "since", view_edge(api, account->since),
        "until", window ? view_edge(api, window_next_edge(window, api_now(api))) : json_null(),
        "hard", words[account->firmness < FIRMNESSES ? account->firmness : 0]);
}

static void view_payer(const struct api *api, uint32_t payer, json_t *view)
{
    struct account accounts[ACCOUNTS];

    state_accounts(api_state(api), payer, api_now(api), accounts);
    json_object_set_new(view, "budget", view_account(api, &accounts[ACCOUNT_MONEY], ACCOUNT_MONEY));
    json_object_set_new(view, "gpu_hours",
                        view_account(api, &accounts[ACCOUNT_GPU_TIME], ACCOUNT_GPU_TIME));
}

void view_accounts(const struct api *api, uint32_t queue, json_t *view)
{
    const struct state *state = api_state(api);
    json_t *users = json_object();

    view_payer(api, state->queues.items[queue].payer, view);
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        const struct payer *payer = &state->payers.items.items[i];
        if (payer->queue != queue || payer->user == PAYER_ALL || !payer_has_budget(payer))
            continue;
        json_t *user = json_object();
        view_payer(api, i, user);
        json_object_set_new(users, state_user(state, payer->user), user);
    }
    json_object_set_new(view, "users", users);
}
